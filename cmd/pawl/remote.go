package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// helloWithin is how long a server may take to say who it is. One that does not
// is taken for a process that does not serve.
const helloWithin = 5 * time.Second

// lookWithin is how long a server may take to say how a run stands to a command
// that has been told to end.
const lookWithin = 5 * time.Second

// remote is the server that has the data directory.
type remote struct {
	http    *http.Client
	hello   hello
	observe pawl.Observer
}

// dial finds the server that has the data directory. It returns nil without an
// error if nobody answers there.
func (g *Globals) dial(ctx context.Context, observe pawl.Observer) (*remote, error) {
	r := &remote{observe: observe, http: &http.Client{Transport: &http.Transport{
		// A request each: a connection that was kept may have ended meanwhile.
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialSocket(ctx, g.Data)
		},
	}}}
	within, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	if err := r.call(within, http.MethodGet, pathHello, nil, &r.hello); err != nil || !same(r.hello.Data, g.Data) {
		return nil, ctx.Err()
	}
	mine := readVersion()
	switch {
	case r.hello.Protocol != protocol:
		return nil, &problem{
			Code: "version_mismatch", Message: fmt.Sprintf("the server that has the data directory %s (process %d) is %s and speaks version %d of what commands and servers say to each other; this is %s, which speaks %d",
				g.Data, r.hello.PID, r.hello.Version, r.hello.Protocol, mine, protocol),
			Hint: "use the program that the server was started with, or start the server anew with this one; the panel and the API work meanwhile", Status: statusUnavailable,
		}
	case r.hello.Version != mine:
		g.notice("other_version", "The server that has the data directory (process %d) is %s; this is %s.", r.hello.PID, r.hello.Version, mine)
	}
	if g.Tools != "" {
		g.notice("tools_of_server", "The server that has the data directory (process %d) has its own tools; %s is not looked at.", r.hello.PID, g.Tools)
	}
	return r, nil
}

// same reports whether both are the same directory: one that was copied names
// the socket of the other one's server.
func same(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// request asks the server. The answer is for the caller to close.
func (r *remote) request(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text []byte
	switch body := body.(type) {
	case nil:
	case []byte:
		text = body
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	answer, err := r.http.Do(request)
	if err != nil {
		return nil, r.gone(ctx, err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer, nil
	}
	defer answer.Body.Close()
	told := new(toldError)
	if err := json.NewDecoder(answer.Body).Decode(told); err != nil || told.Code == "" {
		return nil, fmt.Errorf("the server answered %s %s with %s", method, path, answer.Status)
	}
	return nil, told
}

// call asks the server and decodes its answer.
func (r *remote) call(ctx context.Context, method, path string, body, into any) error {
	answer, err := r.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return r.gone(ctx, err)
	}
	return nil
}

// gone is what is wrong if the connection broke.
func (r *remote) gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.lost(fmt.Sprintf("has ended: %v", err))
}

// lost is a server from which nothing is to be heard any more.
func (r *remote) lost(how string) error {
	return &problem{
		Code: "server_gone", Message: fmt.Sprintf("the server that had the data directory (process %d) %s", r.hello.PID, how),
		Hint: "repeat the command: what was begun is resumable, and the same --id again is the same run", Status: statusUnavailable,
	}
}

func (r *remote) list(ctx context.Context, q *pawl.Query) (*pawl.Page, error) {
	page := new(pawl.Page)
	return page, r.call(ctx, http.MethodPost, pathList, q, page)
}

func (r *remote) checkpoint(ctx context.Context, ref string) (*pawl.Checkpoint, error) {
	c := new(pawl.Checkpoint)
	return c, r.call(ctx, http.MethodGet, pathRun+"?ref="+url.QueryEscape(ref), nil, c)
}

func (r *remote) deployFolder(ctx context.Context, folder fs.FS) (string, error) {
	packed, err := pack(folder)
	if err != nil {
		return "", err
	}
	var d deployedAnswer
	err = r.call(ctx, http.MethodPost, pathDeploy, packed, &d)
	return d.Digest, err
}

func (r *remote) upgrade(ctx context.Context, run, digest string) error {
	return r.call(ctx, http.MethodPost, pathUpgrade, &upgradeOrder{run, digest}, &struct{}{})
}

func (r *remote) start(ctx context.Context, o *startOrder) (waitedRun, error) {
	return r.watch(ctx, pathStart, o)
}

func (r *remote) resume(ctx context.Context, o *resumeOrder) (waitedRun, error) {
	return r.watch(ctx, pathResume, o)
}

// close ends what was asked last.
func (r *remote) close(*error) { r.http.CloseIdleConnections() }

// remoteRun is a run that the server executes.
type remoteRun struct {
	r      *remote
	body   io.Closer
	lines  *json.Decoder
	before *pawl.Checkpoint
}

func (r *remote) watch(ctx context.Context, path string, order any) (waitedRun, error) {
	answer, err := r.request(ctx, http.MethodPost, path, order)
	if err != nil {
		return nil, err
	}
	run := &remoteRun{r: r, body: answer.Body, lines: json.NewDecoder(answer.Body)}
	var first wireLine
	if err := run.lines.Decode(&first); err != nil || first.Begun == nil {
		return nil, errors.Join(r.gone(ctx, err), answer.Body.Close())
	}
	run.before = first.Begun
	return run, nil
}

func (r *remoteRun) begun() *pawl.Checkpoint { return r.before }

func (r *remoteRun) wait(ctx context.Context) (*pawl.Checkpoint, error) {
	defer r.body.Close()
	for {
		var line wireLine
		if err := r.lines.Decode(&line); err != nil {
			return nil, r.r.gone(ctx, err)
		}
		switch {
		case line.Event != nil:
			if r.r.observe != nil {
				r.r.observe(line.Event.event())
			}
		case line.Error != nil:
			return line.Rested, line.Error
		case line.Rested != nil:
			return line.Rested, nil
		}
	}
}

// leave looks once more: the server goes on with the run.
func (r *remoteRun) leave(func()) (*pawl.Checkpoint, bool, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lookWithin, r.r.lost("does not answer"))
	defer cancel()
	c, err := r.r.checkpoint(ctx, r.before.Run)
	return c, true, err
}
