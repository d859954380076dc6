package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/pawl-dev/pawl/web"
)

// The API's description has every route that there is, and no other.
//
// Seen red with a route that the description does not have, and with a path of
// the description that has no route.
func TestDescriptionHasTheRoutes(t *testing.T) {
	t.Parallel()
	api, err := apiDocument()
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for path, item := range api.doc.Paths.Map() {
		for method := range item.Operations() {
			described[method+" "+path] = true
		}
	}
	routed := map[string]bool{}
	for _, route := range web.Handler(nil, nil).(*echo.Echo).Routes() {
		path, ok := strings.CutPrefix(route.Path, "/api/v1")
		if !ok || route.Method == http.MethodHead {
			continue
		}
		name := route.Method + " " + strings.ReplaceAll(path, ":run", "{run}")
		routed[name] = true
		if !described[name] {
			t.Errorf("%s is not described", name)
		}
	}
	for name := range described {
		if !routed[name] {
			t.Errorf("%s is described, and is not there", name)
		}
	}
	if len(routed) < 10 {
		t.Errorf("only %d routes", len(routed))
	}
}

// Whatever can be got can be asked for its head, and only a POST changes
// anything.
func TestMethods(t *testing.T) {
	t.Parallel()
	methods := map[string][]string{}
	for _, route := range web.Handler(nil, nil).(*echo.Echo).Routes() {
		methods[route.Path] = append(methods[route.Path], route.Method)
	}
	for path, has := range methods {
		for _, method := range has {
			if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost}, method) {
				t.Errorf("%s has %s", path, method)
			}
		}
		if slices.Contains(has, http.MethodGet) != slices.Contains(has, http.MethodHead) {
			t.Errorf("%s has only %v", path, has)
		}
	}
	f := setup(t)
	s := serve(t, f.engine, nil)
	for path, allow := range map[string]string{"api/v1/runs": "GET", "api/v1/health": "GET", "api/v1/recovery": "POST"} {
		for _, method := range []string{http.MethodDelete, http.MethodPut, http.MethodPatch} {
			r := s.do(s.request(method, path, "")).want(t, http.StatusMethodNotAllowed)
			if !strings.Contains(r.Header.Get("Allow"), allow) || r.problem(t).Code != "method_not_allowed" {
				t.Errorf("%s %s: Allow %q, %s", method, path, r.Header.Get("Allow"), r.body)
			}
		}
		if allow == "GET" {
			if head := s.do(s.request(http.MethodHead, path, "")).want(t, http.StatusOK); len(head.body) > 0 {
				t.Errorf("%s: a body for HEAD: %s", path, head.body)
			}
		}
	}
	s.get("api/v1/recovery").want(t, http.StatusMethodNotAllowed)
	s.get("api/v1/nothing").want(t, http.StatusNotFound)
	s.get("api").want(t, http.StatusNotFound)
	s.get("api/v2/runs").want(t, http.StatusNotFound)
}
