package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// apiDocument is the API's description and its routes.
var apiDocument = sync.OnceValues(func() (*apiDescription, error) {
	loader := openapi3.NewLoader()
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
		if strings.HasSuffix(at.Path, "checkpoint.schema.json") {
			return pawl.CheckpointSchema(), nil
		}
		return os.ReadFile(at.Path)
	}
	doc, err := loader.LoadFromFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the harness takes the prefix away itself
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		closed(doc.Components.Schemas[name])
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	return &apiDescription{doc, router}, nil
})

// closed lets a schema of ours have no fields but those that it names: readers
// allow others, and a server that sends them has not said so.
func closed(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Ref != "" || ref.Value == nil {
		return
	}
	v := ref.Value
	if len(v.Properties) > 0 && v.AdditionalProperties.Has == nil && v.AdditionalProperties.Schema == nil {
		no := false
		v.AdditionalProperties.Has = &no
	}
	for _, p := range v.Properties {
		closed(p)
	}
	closed(v.Items)
	closed(v.AdditionalProperties.Schema)
}

type apiDescription struct {
	doc    *openapi3.T
	router routers.Router
}

// conforming fails the test for an answer of the API that its description does
// not have. Streams are checked by their heads.
type conforming struct {
	t    testing.TB
	next http.RoundTripper
}

func (c *conforming) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, path, api := strings.Cut(r.URL.Path, "/api/v1")
	if !api {
		return resp, nil
	}
	stream := resp.Header.Get("Content-Type") == "text/event-stream"
	var body []byte
	if !stream {
		body, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := conforms(r, path, resp, body, stream); err != nil {
		what, _, _ := strings.Cut(err.Error(), "Schema:\n")
		c.t.Errorf("%s %s: %d: %s\n%s", r.Method, path, resp.StatusCode, what, body)
	}
	return resp, nil
}

func conforms(r *http.Request, path string, resp *http.Response, body []byte, stream bool) error {
	api, err := apiDocument()
	if err != nil {
		return err
	}
	asked := r.Clone(context.Background())
	asked.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	if asked.Method == http.MethodHead {
		asked.Method = http.MethodGet
	}
	route, params, err := api.router.FindRoute(asked)
	if err != nil { // no such address or method: then the answer says so
		if resp.StatusCode < 400 {
			return fmt.Errorf("an answer to what the description does not have: %w", err)
		}
		return api.problem(r, resp, body)
	}
	if r.Method == http.MethodHead {
		if len(body) > 0 {
			return fmt.Errorf("a body for HEAD")
		}
		return nil
	}
	if resp.StatusCode == http.StatusNotModified && route.Operation.Responses.Status(resp.StatusCode) == nil {
		return fmt.Errorf("304 is not described")
	}
	return openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: asked, PathParams: params, Route: route},
		Status:                 resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: stream},
	})
}

// problem checks an answer to a request that no route has.
func (a *apiDescription) problem(r *http.Request, resp *http.Response, body []byte) error {
	if r.Method == http.MethodHead {
		return nil
	}
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		return fmt.Errorf("the media type is %q", got)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return a.doc.Components.Schemas["Problem"].Value.VisitJSON(v, openapi3.EnableJSONSchema2020())
}
