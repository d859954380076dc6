package httpcall

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/steps"
)

// Transport returns a RoundTripper for an [http.Client] of the step: each request
// becomes one call of the tool whose pattern it fits, the most specific one as
// [http.ServeMux] defines it. It is valid as long as the step, and may be
// used by several goroutines of it. It panics if two patterns are in conflict.
func Transport(s *steps.Step, tools ...Tool) http.RoundTripper {
	t := &transport{step: s, mux: http.NewServeMux()}
	for i := range tools {
		t.patterns = append(t.patterns, `"`+tools[i].pattern+`"`)
		t.mux.HandleFunc(tools[i].pattern, func(w http.ResponseWriter, r *http.Request) {
			if w, ok := w.(*choice); ok {
				w.tool, w.request = &tools[i], r
			}
		})
	}
	return t
}

type transport struct {
	step     *steps.Step
	mux      *http.ServeMux
	patterns []string
}

// choice is what the patterns say of a request: the tool, and the request with
// its wildcards filled in.
type choice struct {
	tool    *Tool
	request *http.Request
}

// Header and its like are for what the mux answers when nothing fits.
func (*choice) Header() http.Header         { return http.Header{} }
func (*choice) Write(b []byte) (int, error) { return len(b), nil }
func (*choice) WriteHeader(int)             {}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	tool, matched, err := t.choose(req)
	if err != nil {
		return nil, err
	}
	response, err := tool.call(t.step, matched, body)
	var call *steps.CallError
	switch {
	case err == nil:
		return answer(req, response, nil), nil
	case errors.As(err, &call) && answered(call):
		return answer(req, call.Response, call), nil
	}
	return nil, err
}

// readAll reads and closes a body, as a RoundTripper must.
func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(body)
	return data, errors.Join(err, body.Close())
}

// choose finds the tool for a request.
func (t *transport) choose(req *http.Request) (*Tool, *http.Request, error) {
	copied := *req
	if copied.Host == "" {
		copied.Host = req.URL.Host
	}
	if copied.Method == "" {
		copied.Method = http.MethodGet
	}
	var found choice
	t.mux.ServeHTTP(&found, &copied)
	// A pattern with GET takes HEAD too, which the tool would send as GET.
	if found.tool == nil || found.tool.method != copied.Method {
		return nil, nil, &steps.CallError{
			Tool: copied.Method + " " + req.URL.Path, Status: abi.Denied, Code: "no_such_tool",
			Message: "no tool of the transport stands for it; there are " + strings.Join(t.patterns, ", "),
		}
	}
	return found.tool, found.request, nil
}
