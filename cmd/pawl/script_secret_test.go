package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// kept is part of every answer of a gossip, so that a search that finds nothing
// at all is noticed.
const kept = "this-is-kept"

// gossip starts a receiver before the services that says the caller's token back
// in whatever it passes on, in every form that it can think of; GOSSIP is its
// address.
func gossip(ts *testscript.TestScript, _ bool, _ []string) {
	to, err := url.Parse("http://" + ts.Getenv("SERVICES"))
	ts.Check(err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		token := strings.TrimPrefix(r.Request.Header.Get("Authorization"), "Bearer ")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		said := map[string]any{}
		if err := json.Unmarshal(body, &said); err == nil && token != "" {
			said["said"] = append(spoken(token), kept)
			if list, ok := said["data"].([]any); ok {
				for _, one := range list {
					one.(map[string]any)["said"] = said["said"]
				}
			}
			if body, err = json.Marshal(said); err != nil {
				return err
			}
		}
		r.Header.Set("X-Said", token)
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		r.ContentLength, r.Body = int64(len(body)), io.NopCloser(bytes.NewReader(body))
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	server := httptest.NewServer(proxy)
	ts.Defer(func() { server.CloseClientConnections(); server.Close() })
	ts.Setenv("GOSSIP", strings.TrimPrefix(server.URL, "http://"))
}

// spoken are the forms in which a receiver says a secret back.
func spoken(secret string) []string {
	quoted, _ := json.Marshal(secret)
	all := []string{secret, string(quoted[1 : len(quoted)-1]), url.QueryEscape(secret), url.PathEscape(secret)}
	for _, before := range []string{"", "x", "Bearer "} { // three places within the groups of base64
		all = append(all, base64.StdEncoding.EncodeToString([]byte(before+secret)), base64.RawURLEncoding.EncodeToString([]byte(before+secret)))
	}
	return all
}

// secretless TOKEN PATH... searches every byte of all files for the token in any
// form, without what neighbours may change of base64.
func secretless(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: secretless TOKEN PATH...")
	}
	forms := spoken(args[0])
	for i := 4; i < len(forms); i++ {
		forms[i] = forms[i][12 : len(forms[i])-6]
	}
	looked := 0
	for _, path := range args[1:] {
		ts.Check(filepath.WalkDir(ts.MkAbs(path), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			looked += len(text)
			for _, form := range forms {
				if i := bytes.Index(text, []byte(form)); i >= 0 {
					ts.Fatalf("%s has the secret at byte %d: %.80q", name, i, text[max(0, i-20):])
				}
			}
			return nil
		}))
	}
	if looked == 0 {
		ts.Fatalf("there was nothing to search")
	}
	ts.Logf("%d bytes without it", looked)
}
