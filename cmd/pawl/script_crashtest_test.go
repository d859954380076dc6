package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/rogpeppe/go-internal/testscript"
)

// liar starts a receiver that pays with every request, whatever its key, and
// sets LIAR to its address.
func liar(ts *testscript.TestScript, _ bool, _ []string) {
	var paid atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var refund struct {
			Amount int64 `json:"amount_cent"`
		}
		if err := json.NewDecoder(r.Body).Decode(&refund); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": fmt.Sprintf("rf_%d", paid.Add(1)), "amount_cent": refund.Amount})
	}))
	ts.Defer(s.Close)
	ts.Setenv("LIAR", strings.TrimPrefix(s.URL, "http://"))
}

// wellXML is the command `wellxml FILE`: the file is well-formed XML.
func wellXML(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: wellxml FILE")
	}
	for d := xml.NewDecoder(strings.NewReader(ts.ReadFile(args[0]))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		ts.Check(err)
	}
}
