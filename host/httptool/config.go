package httptool

// Config is the part of a tool's table in tools.toml that belongs to this kind,
// as it is written there. [New] checks it.
type Config struct {
	// URL is where the request goes. {field} in its path or query stands for a
	// field of the request, percent-encoded; {a.b} for a field of a field.
	URL string `toml:"url"`
	// Method is GET, POST, PUT, PATCH or DELETE. Defaults to GET for a read and
	// to POST for everything else.
	Method string `toml:"method"`
	// Headers are sent with the request and with the verify query.
	// {secret.name} in a value stands for the secret's value.
	Headers map[string]string `toml:"headers"`
	// Body says how the request is written: "json"; "form", as
	// application/x-www-form-urlencoded, with a.b as a[b] and lists as c[0],
	// c[1]; or "raw", the step's bytes as they are. Each has its Content-Type
	// unless Headers name another. Defaults to "json".
	Body string `toml:"body"`
	// Allow widens what may be reached: "private" for loopback, private,
	// link-local and other addresses that are not public. Defaults to none.
	Allow []string `toml:"allow"`
	// Key says where the idempotency key goes.
	Key Key `toml:"key"`
	// Units names what an answer charges: unit -> JSON Pointer to a whole,
	// non-negative number in the answer.
	Units map[string]string `toml:"units"`
	// Answer says which answers mean something else here than usually.
	Answer Answers `toml:"answer"`
	// Verify is how the receiver is asked what became of a key. Defaults to nil:
	// it cannot be asked.
	Verify *Verify `toml:"verify"`
}

// Key says where the idempotency key goes: into a header, the body or the query.
type Key struct {
	// Header is the name of the header. Defaults to "Idempotency-Key" if JSON
	// and Query are empty and the tool is not a read; a read sends no key unless
	// asked to.
	Header string `toml:"header"`
	// JSON is the JSON Pointer in the request at which the key is put before the
	// body is written, be that JSON or a form.
	JSON string `toml:"json"`
	// Query is the name of the parameter that is appended to URL.
	Query string `toml:"query"`
	// Format is how the key is written, here, in Verify.URL and in help: "ulid"
	// (26 characters of Crockford base32), or "uuid", the same bits as a UUID.
	// Defaults to "ulid".
	Format string `toml:"format"`
	// Window is how long the receiver remembers a key, as a Go duration; "0"
	// says that its memory is never relied on. Defaults to
	// host.DefaultKeyWindow.
	Window string `toml:"window"`
}

// Answers lists HTTP statuses (100 to 599) whose outcome differs from the
// default. Applied and rejected ones also settle earlier unknown tries of the
// key; the others settle nothing.
type Answers struct {
	Applied    []int `toml:"applied"`
	Rejected   []int `toml:"rejected"`
	NotApplied []int `toml:"not_applied"`
	Unknown    []int `toml:"unknown"`
}

// Verify is how a receiver is asked what became of a key: a GET, and two CEL
// expressions over `status` and `response` (null if the answer is not JSON).
// An answer of 401, 403, 407, 408, 425, 429, 3xx or 5xx, an expression that
// fails, neither true and both true are no answer.
type Verify struct {
	// URL is where to ask. {key} stands for the key, {field} as in Config.URL.
	URL string `toml:"url"`
	// Settle is how long after a try's deadline the receiver may still apply it,
	// as a Go duration. Defaults to host.DefaultSettle.
	Settle string `toml:"settle"`
	// Applied and Absent are given together. Where {key} stands in the path of
	// URL they may both be left out, and default to 2xx and to 404.
	Applied string `toml:"applied"`
	Absent  string `toml:"absent"`
	// Receipt is the JSON Pointer to the part of the response that the call
	// itself would have been answered. Defaults to "", the whole.
	Receipt string `toml:"receipt"`
}
