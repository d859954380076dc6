package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	pawl "github.com/pawl-dev/pawl/runtime"

	"github.com/pawl-dev/pawl/host"
)

type contracts = map[string]host.Contract

// Run makes the crash matrix of a workflow and judges it. A row that is not as
// it must be is no error: see [Report.Summary]. An error says that there is no
// matrix: the clean run failed, or ctx ended. Whatever Run started has ended
// when it returns.
func Run(ctx context.Context, c *Config) (report *Report, err error) {
	config, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	if config.Workflow, err = filepath.Abs(config.Workflow); err != nil {
		return nil, err
	}
	if config.Dir == "" {
		if config.Dir, err = os.MkdirTemp("", "pawl-crashtest-"); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(config.Dir)) }()
	}
	reader, err := newReader()
	if err != nil {
		return nil, fmt.Errorf("crashtest: the schema of the checkpoint document: %w", err)
	}
	t := &tester{config: config, reader: reader}
	report, err = t.run(ctx)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("crashtest: %w", ctx.Err()) // whatever broke off because of it
	}
	return report, err
}

// tester is one Run.
type tester struct {
	config Config
	reader *reader
	clean  *outcome

	mu sync.Mutex // held while Progress is called
}

func (t *tester) run(ctx context.Context) (*Report, error) {
	began := time.Now()
	if err := t.cleanRun(ctx); err != nil {
		return nil, fmt.Errorf("crashtest: the clean run: %w", err)
	}
	report := &Report{Clean: Clean{
		Output: t.clean.after.Output(), Effects: perTool(t.clean.effects), Took: time.Since(began),
	}}
	if t.config.Receivers == nil {
		report.LeftOut = "H2, H3 and the ledgers: there are no receivers that could be told to hold a call, or asked"
	}
	m, err := matrix(t.clean, t.config.Receivers != nil)
	if err != nil {
		return nil, err
	}
	report.leaveOut(m)
	faults := m.faults(t.config.Modes) // made from the points, of which some go now
	writes, points := t.chosen(m.writes), t.chosen(m.points)
	all := append(append(writes, points...), faults...)
	t.config.Begin(len(all))
	if report.Rows, err = t.rows(ctx, all); err != nil {
		return nil, err
	}
	rising(points, report.Rows[len(writes):][:len(points)])
	lies := t.clean.lies(t.clean.effects, "")
	for _, row := range report.Rows {
		lies = append(lies, row.lies...)
	}
	report.Lies = distinct(lies)
	report.Took = time.Since(began)
	return report, nil
}

// chosen are the boundaries that are asked for.
func (t *tester) chosen(all []*boundary) []*boundary {
	if t.config.Points == nil {
		return all
	}
	return slices.DeleteFunc(all, func(b *boundary) bool { return !slices.Contains(t.config.Points, b.Point) })
}

// rows carries out all boundaries.
func (t *tester) rows(ctx context.Context, all []*boundary) ([]*Row, error) {
	rows := make([]*Row, len(all))
	var group errgroup.Group
	group.SetLimit(t.config.Parallel)
	for i, b := range all {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			rows[i] = t.row(ctx, b)
			if err := ctx.Err(); err != nil {
				return err
			}
			t.mu.Lock()
			defer t.mu.Unlock()
			t.config.Progress(rows[i])
			return nil
		})
	}
	return rows, group.Wait()
}

// row crashes one run and judges it.
func (t *tester) row(ctx context.Context, b *boundary) *Row {
	r := &Row{Name: b.Name, Point: b.Point, Step: b.Step, Call: b.Call, Tool: b.Tool}
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	if b.Point == Fault {
		if err := t.fault(ctx, b, r); err != nil {
			r.Mismatches = append(r.Mismatches, "not judged: "+err.Error())
		}
		return r
	}
	got, err := t.crash(ctx, b, r)
	if err != nil {
		r.Mismatches = append(r.Mismatches, "not judged: "+err.Error())
		return r
	}
	judge(r, b, t.clean, got)
	r.lies = append(t.clean.lies(got.effects, r.Name), r.unfounded(b)...)
	return r
}

// cleanRun lets a run end in peace.
func (t *tester) cleanRun(ctx context.Context) (err error) {
	c, err := t.open(ctx, "clean")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	m, err := c.child(ctx, order{Do: doClean, Root: "clean"})
	if err != nil {
		return err
	}
	t.clean = &outcome{check: m.Check, seen: m.Seen, contracts: m.Contracts, stale: t.config.Stale}
	if t.clean.after, err = t.reader.read(m.Checkpoint); err != nil {
		return err
	}
	if t.clean.effects, err = c.effects(ctx); err != nil {
		return err
	}
	switch after := t.clean.after; {
	case after.State != pawl.StateCompleted:
		return fmt.Errorf("it is %s%s", after.State, reason(after))
	case m.Check != "":
		return fmt.Errorf("the store is not sound: %s", m.Check)
	case repeated(t.clean.effects) > 0:
		return errors.New("a receiver applied one key twice although nothing happened")
	}
	return nil
}

// crash kills a run at its boundary, has its document read, and resumes it.
func (t *tester) crash(ctx context.Context, b *boundary, r *Row) (got *outcome, err error) {
	c, err := t.open(ctx, r.dir())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.killAt(ctx, b); err != nil {
		return nil, err
	}
	if err := c.exact(ctx, b); err != nil {
		return nil, err
	}
	got = new(outcome)
	shown, err := c.child(ctx, order{Do: doShow})
	if err != nil {
		return nil, fmt.Errorf("show: %w", err)
	}
	if got.before, err = t.reader.read(shown.Checkpoint); err != nil {
		return nil, fmt.Errorf("show: %w", err)
	}
	resumed, err := c.child(ctx, order{Do: doResume})
	if err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	got.check = resumed.Check
	if got.after, err = t.reader.read(resumed.Checkpoint); err != nil {
		return nil, fmt.Errorf("resume: %w", err)
	}
	got.effects, err = c.effects(ctx)
	return got, err
}
