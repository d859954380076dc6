package standin

import "encoding/json"

// KeyParameter is the parameter of a question that has the key.
const KeyParameter = "pawl_key"

// The prefixes of the addresses of a tool, before its id.
const (
	DoPrefix  = "/do/"
	AskPrefix = "/ask/"
)

// Plan is what the receivers are, by tool.
type Plan struct {
	Tools map[string]*Tool `json:"tools"`
}

// Tool is what the receiver of one tool promises and answers.
type Tool struct {
	// Writes says that a request has an effect, Keyed that a key has its effect
	// once and is answered alike afterwards.
	Writes bool `json:"writes"`
	Keyed  bool `json:"keyed"`
	// Header, Pointer or Query say where a request has its key: the name of a
	// header, a JSON Pointer into the body, or a parameter.
	Header  string `json:"header,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Query   string `json:"query,omitempty"`
	// Path is the tool's path and query, with {field} where a field of the
	// request stands, so that an answer can have that too.
	Path string `json:"path"`
	// Status and Answer are what a request is answered. A text of the answer that
	// is "{field}" stands for that field of the request as it is, {field} within
	// a text for its text; {key} is the key. A field that there is not is null.
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
	// Found and Absent are what a question is answered about a key that had its
	// effect, and about one that had not. In Found the text "{answer}" stands for
	// what the request was answered.
	Found  Reply `json:"found"`
	Absent Reply `json:"absent"`
}

// Reply is an answer to a question.
type Reply struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}
