package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pawl-dev/pawl/host/httptool"
	"github.com/pawl-dev/pawl/runtime/crashtest"
	"github.com/pawl-dev/pawl/runtime/crashtest/fakes/standin"
)

// permitted refuses to write to other machines unless that was asked for.
func (t *crashTest) permitted() error {
	if len(t.used) == 0 {
		return &problem{
			Code: "no_tools", Message: "the workflow calls no tool of a tools file, so there is nothing real to reach",
			Hint: "leave out --real", Status: statusUsage,
		}
	}
	places, here := t.witness.places()
	if here || t.command.Yes {
		return reachable(places)
	}
	return &problem{
		Code: "needs_yes", Message: "one run after the other, one for each boundary, would really write to " + strings.Join(places, ", "),
		Hint: "give --yes too if these are receivers to try things with; without --real nothing outside is reached", Status: statusRefused,
	}
}

// reachable tries to connect to all places: a receiver that is not there would
// look like one that keeps silent.
func reachable(places []string) error {
	for _, place := range places {
		u, err := url.Parse(place)
		if err != nil {
			continue // it was checked when the file was read
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), 10*time.Second)
		if err != nil {
			return &problem{
				Code: "not_reached", Message: fmt.Sprintf("no connection to %s: %v", place, err),
				Hint: "start the receiver, or mend its address in tools.toml", Status: statusUsage,
			}
		}
		_ = conn.Close() // nothing was said
	}
	return nil
}

// watch makes the rows reach the real receivers.
func (t *crashTest) watch(config *crashtest.Config, view *matrixView) {
	places, _ := t.witness.places()
	config.Begin = func(rows int) {
		view.begin(rows)
		view.say("It has written to %s, and each of the boundaries does.", strings.Join(places, ", "))
	}
	config.Timeout, config.Stale = time.Minute, true
	for _, id := range t.used {
		c := t.declared[id].contract
		config.Timeout = max(config.Timeout, 2*(c.Timeout+c.Settle)) // what a question may wait for, and as much for the rest
	}
	config.Receivers = func(_ context.Context, dir string) (crashtest.Receivers, error) {
		r := &observed{witness: t.witness, names: t.names, ended: make(chan struct{}), transports: map[bool]*http.Transport{}}
		if err := r.serve(); err != nil {
			return nil, err
		}
		if err := writeFile(detourFile(dir), &detour{Addr: r.listener.Addr().String()}); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
}

// observed are the real receivers of one run, seen from the way to them.
type observed struct {
	witness    *witness
	names      map[string]string // by which the steps call a tool
	listener   net.Listener
	server     *http.Server
	transports map[bool]*http.Transport // by whether private addresses may be reached
	served     sync.WaitGroup
	ended      chan struct{} // closed at the end

	mu       sync.Mutex // guards what follows
	requests []crashtest.Request
	hold     *heldCall
}

// heldCall is a call that is to be held.
type heldCall struct {
	tool string
	when crashtest.When
	held chan struct{}
}

func (r *observed) serve() (err error) {
	for _, private := range []bool{false, true} {
		dialer := &net.Dialer{Timeout: 30 * time.Second}
		if !private {
			dialer.Control = httptool.RefusePrivate
		}
		// A connection that is used twice may break just then, and net/http would
		// send a request with a key again by itself.
		r.transports[private] = &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: dialer.DialContext}
	}
	if r.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	r.served.Go(func() { _ = r.server.Serve(r.listener) }) // ends with Close
	return nil
}

func isLoopback(name string) bool {
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}

// ServeHTTP implements [http.Handler]: it passes a request on.
func (r *observed) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	q, err := standin.Read(r.witness.plan, req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := r.came(q)
	if h != nil && h.when == crashtest.Before {
		r.stand(h, req)
	}
	answer, body, err := r.pass(q, req)
	if err != nil {
		r.witness.lost(q.Tool, err)
		panic(http.ErrAbortHandler) // no answer is what the sender has to see
	}
	if !q.Question {
		r.witness.saw(q.Tool, q.Key, answer.StatusCode, body)
	}
	if h != nil {
		r.stand(h, req)
	}
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.Header().Del("Connection")
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body) // whoever is gone does not get it
}

// came takes a request down, and takes the hold that is for it.
func (r *observed) came(q *standin.Asked) *heldCall {
	if q.Question {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, crashtest.Request{Tool: r.names[q.Tool], Key: q.Key})
	h := r.hold
	if h == nil || h.tool != r.names[q.Tool] {
		return nil
	}
	r.hold = nil
	return h
}

// stand tells that a call is held, and never goes on with it.
func (r *observed) stand(h *heldCall, req *http.Request) {
	close(h.held)
	select {
	case <-req.Context().Done():
	case <-r.ended:
	}
	panic(http.ErrAbortHandler)
}

// pass sends a request to its receiver. It is not broken off when its sender is
// gone: the receiver has it then.
func (r *observed) pass(q *standin.Asked, req *http.Request) (*http.Response, []byte, error) {
	d := r.witness.declared[q.Tool]
	address := d.config.URL
	if q.Question {
		address = d.config.Verify.URL
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), d.contract.Timeout)
	defer cancel()
	out, err := http.NewRequestWithContext(ctx, req.Method, originOf(address)+q.URI, bytes.NewReader(q.Body))
	if err != nil {
		return nil, nil, err
	}
	out.Header = req.Header.Clone()
	for _, name := range []string{"Connection", "Keep-Alive", "Te", "Upgrade"} {
		out.Header.Del(name)
	}
	answer, err := r.transports[slices.Contains(d.config.Allow, "private")].RoundTrip(out)
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostPassed))
	return answer, body, err
}

// mostPassed bounds an answer that is passed on, in bytes.
const mostPassed = 64 << 20

// Hold implements [crashtest.Receivers].
func (r *observed) Hold(_ context.Context, tool string, when crashtest.When) (<-chan struct{}, error) {
	h := &heldCall{tool, when, make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold = h
	return h.held, nil
}

// Effects implements [crashtest.Receivers]: nothing is known of them.
func (r *observed) Effects(context.Context) ([]crashtest.Effect, error) { return nil, nil }

// Requests implements [crashtest.Receivers].
func (r *observed) Requests(context.Context) ([]crashtest.Request, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests), nil
}

// Close implements [crashtest.Receivers].
func (r *observed) Close() error {
	close(r.ended)
	const grace = 5 * time.Second // for calls that are still passed on
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if err != nil {
		err = r.server.Close()
	}
	r.served.Wait()
	return err
}
