package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// desk answers commands over the socket: they ask a keeper, and it does what
// they would do themselves if they had the data directory.
type desk struct {
	keeper keeper
	hub    *hub
	hello  hello
	// stopping reports whether nothing new is begun.
	stopping func() bool
}

// maxOrder is the largest order, in bytes: an input and what stands around it.
const maxOrder = 16 << 20

func (d *desk) routes(panel http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHello, func(w http.ResponseWriter, _ *http.Request) { reply(w, d.hello, nil) })
	mux.HandleFunc("GET "+pathRun, d.open(func(w http.ResponseWriter, r *http.Request) {
		c, err := d.keeper.checkpoint(r.Context(), r.URL.Query().Get("ref"))
		reply(w, c, err)
	}))
	mux.HandleFunc("POST "+pathList, d.open(ordered(func(w http.ResponseWriter, r *http.Request, q *pawl.Query) {
		page, err := d.keeper.list(r.Context(), q)
		reply(w, page, err)
	})))
	mux.HandleFunc("POST "+pathDeploy, d.open(d.deploy))
	mux.HandleFunc("POST "+pathUpgrade, d.open(ordered(func(w http.ResponseWriter, r *http.Request, o *upgradeOrder) {
		reply(w, struct{}{}, d.keeper.upgrade(r.Context(), o.Run, o.Digest))
	})))
	mux.HandleFunc("POST "+pathStart, d.open(ordered(func(w http.ResponseWriter, r *http.Request, o *startOrder) {
		d.watch(w, r, "", func(ctx context.Context) (waitedRun, error) { return d.keeper.start(ctx, o) })
	})))
	mux.HandleFunc("POST "+pathResume, d.open(ordered(func(w http.ResponseWriter, r *http.Request, o *resumeOrder) {
		d.watch(w, r, o.Run, func(ctx context.Context) (waitedRun, error) { return d.keeper.resume(ctx, o) })
	})))
	mux.Handle("/", panel)
	return mux
}

// open refuses commands while the server stops.
func (d *desk) open(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if d.stopping() {
			reply(w, nil, &problem{
				Code: "server_stopping", Message: fmt.Sprintf("the server that has the data directory (process %d) is stopping", os.Getpid()),
				Hint: "repeat the command when it has ended; its runs stay resumable", Status: statusUnavailable,
			})
			return
		}
		h(w, r)
	}
}

// ordered reads the order of a request.
func ordered[Order any](h func(http.ResponseWriter, *http.Request, *Order)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var o Order
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder)).Decode(&o); err != nil {
			reply(w, nil, fmt.Errorf("the order cannot be read: %w", err))
			return
		}
		h(w, r, &o)
	}
}

// reply writes a value, or why there is none.
func reply(w http.ResponseWriter, value any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusConflict) // commands look at the error alone
		value = tell(err)
	}
	_ = writeJSON(w, value) // who has gone does not read it
}

func (d *desk) deploy(w http.ResponseWriter, r *http.Request) {
	packed, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPacked))
	if err != nil {
		reply(w, nil, fmt.Errorf("the packed folder cannot be read: %w", err))
		return
	}
	folder, err := unpack(packed)
	if err != nil {
		reply(w, nil, err)
		return
	}
	digest, err := d.keeper.deployFolder(r.Context(), folder)
	reply(w, deployedAnswer{digest}, err)
}

// watch does what begin does and follows the run until it rests or the command
// has gone; then the run goes on. run is its id, empty if that is not known yet.
func (d *desk) watch(w http.ResponseWriter, r *http.Request, run string, begin func(context.Context) (waitedRun, error)) {
	f := d.hub.follow(run)
	defer f.end()
	begun, err := begin(r.Context())
	if err != nil {
		reply(w, nil, err)
		return
	}
	f.settle(begun.begun().Run)
	s := newStream(w)
	s.write(&wireLine{Begun: begun.begun()})
	ctx, stop := context.WithCancel(r.Context())
	rested := make(chan *wireLine, 1)
	go func() {
		c, err := begun.wait(ctx)
		rested <- &wireLine{Rested: c, Error: tell(err)}
	}()
	s.follow(f, rested)
	stop()
	if !s.ended {
		<-rested
	}
}

// stream writes lines to a command.
type stream struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	err   error // the command has gone, or does not read
	ended bool  // the end has been taken
}

// unreadFor is how long a command may leave a line unread.
const unreadFor = 10 * time.Second

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("Content-Type", "application/jsonl")
	return &stream{w: w, out: http.NewResponseController(w)}
}

func (s *stream) write(lines ...*wireLine) {
	if s.err == nil {
		s.err = s.out.SetWriteDeadline(time.Now().Add(unreadFor))
	}
	for _, line := range lines {
		if s.err == nil {
			s.err = writeJSON(s.w, line)
		}
	}
	if s.err == nil {
		s.err = s.out.Flush()
	}
}

// follow writes what comes until the run rests.
func (s *stream) follow(f *follower, rested <-chan *wireLine) {
	for s.err == nil {
		var end *wireLine
		select {
		case <-f.more:
		case end = <-rested:
			s.ended = true
		}
		events, dropped := f.take() // after the end: all its events have come
		for _, e := range events {
			s.write(&wireLine{Event: onWire(e)})
		}
		if end != nil {
			s.write(end)
			return
		}
		if dropped {
			s.write(&wireLine{Error: tell(&problem{
				Code: "too_slow", Message: "this command did not keep up with what the run does, so the server tells it no more",
				Hint: "the server goes on with the run; pawl show says how it stands", Status: statusWaits,
			})})
			s.err = errors.New("dropped")
		}
	}
}
