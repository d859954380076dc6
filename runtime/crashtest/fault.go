package crashtest

import (
	"context"
	"fmt"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// Mode is what a receiver does wrong with a request.
type Mode string

// The modes.
const (
	Lost        Mode = "lost"          // the request never has its effect, and no answer comes
	CommitHang  Mode = "commit-hang"   // applied, and no answer comes
	Commit500   Mode = "commit-500"    // applied, and answered with 500
	NoCommit500 Mode = "500-no-commit" // not applied, and answered with 500
)

// Modes are all of them.
func Modes() []Mode { return []Mode{Lost, CommitHang, Commit500, NoCommit500} }

// Faulty are [Receivers] that can do something wrong when they are told to.
type Faulty interface {
	Receivers
	// Fail makes the next request of the tool go wrong.
	Fail(ctx context.Context, tool string, mode Mode) error
}

// Fault is a point without a kill: the receiver does something wrong with the
// call's first try, and the process lives on.
const Fault Point = "fault"

// faults are the rows of the modes, one for each write of the clean run that
// worked at its first try.
func (m *maker) faults(modes []Mode) (rows []*boundary) {
	for _, b := range m.points {
		if b.Point != H5 || b.Stored || b.Silent || b.Try != 1 || b.contract.Effect == host.Read || !m.calls[place{b.Step, b.Attempt, b.Call}].applied {
			continue
		}
		for _, mode := range modes {
			row := *b
			row.Point, row.mode = Fault, mode
			row.Name = fmt.Sprintf("%s %s/%d %s", mode, b.Step, b.Call, b.Tool)
			if b.Attempt > 1 {
				row.Name += fmt.Sprintf(" attempt %d", b.Attempt)
			}
			rows = append(rows, &row)
		}
	}
	return rows
}

// tollOfFault is what a receiver's fault may cost. There is no kill, so there is
// no recovery.
//
//	calls: keyed or verify that is asked, applied    0
//	       keyed or verify, sent once more           +1; park without a further try
//	       once                                      park, but 0 if it is asked and was applied
func tollOfFault(c host.Contract, mode Mode) toll {
	applied := mode == CommitHang || mode == Commit500
	switch {
	case applied && c.Verifies:
		return toll{}
	case repeats(c) && (c.Verifies || c.Tries > 1):
		return toll{calls: 1}
	}
	return toll{parks: true}
}

// fault lets one request of a run go wrong and judges what became of it.
func (t *tester) fault(ctx context.Context, b *boundary, r *Row) error {
	c, err := t.open(ctx, r.dir())
	if err != nil {
		return err
	}
	got, err := c.faulty(ctx, t.reader, b)
	if closeErr := c.close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	j := &judgement{row: r, boundary: b, clean: t.clean, got: got, toll: tollOfFault(b.contract, b.mode)}
	j.end()
	r.lies = append(t.clean.lies(got.effects, r.Name), r.unfounded(b)...)
	return nil
}

func (c *testCase) faulty(ctx context.Context, reader *reader, b *boundary) (*outcome, error) {
	receivers, ok := c.receivers.(Faulty)
	if !ok {
		return nil, fmt.Errorf("these receivers cannot be told to do something wrong")
	}
	ctx, cancel := limit(ctx, c.config.Timeout)
	defer cancel()
	p, err := c.begin(ctx, order{Do: doFault, At: b})
	if err != nil {
		return nil, err
	}
	defer p.abandon()
	if _, err := p.next(ctx, sayArmed); err != nil {
		return nil, err
	}
	if err := receivers.Fail(ctx, b.Tool, b.mode); err != nil {
		return nil, fmt.Errorf("the receiver cannot be told to fail with %s: %w", b.Tool, err)
	}
	if err := p.tell("go"); err != nil {
		return nil, err
	}
	m, err := p.next(ctx, sayDone)
	if err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	got := &outcome{check: m.Check}
	if got.after, err = reader.read(m.Checkpoint); err != nil {
		return nil, err
	}
	got.effects, err = c.effects(ctx)
	return got, err
}

// failing lets the parent know when the call comes whose request is to go wrong,
// and waits until that is arranged.
func (g *gate) failing(e pawl.Event) {
	if !g.mine(e) || e.Kind != pawl.BeforeIntent {
		return
	}
	g.say(sayArmed)
	select {
	case <-g.child.told:
	case <-g.gone:
		g.forever()
	}
}
