package httpcall

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/pawl-dev/pawl/steps"
)

// Tool is a tool that does what one kind of HTTP request asks for. Make it with
// [NewTool]; it may be used concurrently.
type Tool struct {
	id        string
	pattern   string
	method    string
	wildcards []string
	dropped   []string // canonical names of headers

	sendJSON  steps.Tool[json.RawMessage, steps.Response]
	sendBytes steps.Tool[[]byte, steps.Response]
}

// alwaysDropped are headers that say nothing about what is asked for, or that the
// tool writes itself.
var alwaysDropped = []string{"Accept", "Accept-Encoding", "Content-Type", "User-Agent"}

// NewTool names a tool and the requests that it stands for, as a pattern of
// [http.ServeMux]: a method and a path, "GET /v1/orders/{order}". It belongs into a
// package variable, so that the module's description lists the tool. drop names
// further headers of the client that are left out.
//
// It panics if the name is not allowed, or the pattern is one that a tool cannot
// stand for: without a method, of a whole tree of paths, or none at all.
func NewTool(id, pattern string, drop ...string) Tool {
	t := Tool{
		id: id, pattern: pattern, dropped: slices.Clone(alwaysDropped),
		sendJSON:  steps.NewTool[json.RawMessage, steps.Response](id),
		sendBytes: steps.NewTool[[]byte, steps.Response](id),
	}
	for _, name := range drop {
		t.dropped = append(t.dropped, http.CanonicalHeaderKey(name))
	}
	http.NewServeMux().Handle(pattern, http.NotFoundHandler()) // panics with what is wrong with it
	var path string
	t.method, path, _ = strings.Cut(pattern, " ")
	switch t.method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		panic(fmt.Sprintf("httpcall.NewTool(%q, %q): the pattern must begin with GET, POST, PUT, PATCH or DELETE", id, pattern))
	}
	if strings.HasSuffix(path, "/") || strings.Contains(path, "...}") {
		panic(fmt.Sprintf("httpcall.NewTool(%q, %q): one tool sends to one path; end it with {$} or a name", id, pattern))
	}
	for _, part := range strings.Split(path, "{")[1:] {
		if name, _, _ := strings.Cut(part, "}"); name != "$" {
			t.wildcards = append(t.wildcards, name)
		}
	}
	return t
}

func (t *Tool) hasBody() bool { return t.method != http.MethodGet && t.method != http.MethodDelete }
