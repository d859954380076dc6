package hosttest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/hosttest"
)

// paper notes what is reported, in the place of a test.
type paper struct {
	testing.TB
	mu    sync.Mutex
	wrong []string
}

func (p *paper) Errorf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, fmt.Sprintf(format, args...))
}

func (p *paper) Logf(string, ...any) {}

func TestHonestTools(t *testing.T) {
	t.Parallel()
	for _, class := range []host.Class{host.Read, host.Keyed, host.Verify, host.Once} {
		for _, asked := range []bool{false, true} {
			if class == host.Verify && !asked {
				continue
			}
			t.Run(fmt.Sprint(class, asked), func(t *testing.T) {
				t.Parallel()
				b := newBank()
				opts := &host.FuncOptions{Contract: host.Contract{Effect: class}}
				if asked && class != host.Read {
					opts.Verify = func(ctx context.Context, c *host.Call) (any, bool, error) {
						if ctx.Err() != nil {
							return nil, false, ctx.Err()
						}
						return b.verify(ctx, c)
					}
				}
				hosttest.Exercise(t, host.Func("pay", b.pay(class), opts), request, b.count, b.options())
				if class != host.Read && b.count() < 10 {
					t.Errorf("only %d effects: the suite did not exercise much", b.count())
				}
			})
		}
	}
}

// liar is an honest tool but for what a row changes.
type liar struct {
	host.Tool
	class  host.Class
	try    func(ctx context.Context, c *host.Call) host.Answer
	verify func(ctx context.Context, c *host.Call) host.Verdict
	check  func(c *host.Call) error
	show   func(c *host.Call) ([]byte, error)
	change func() host.Contract
}

func (l *liar) Contract() host.Contract {
	if l.change != nil {
		return l.change()
	}
	return host.Contract{Effect: l.class, Verifies: l.verify != nil}
}

func (l *liar) Try(ctx context.Context, c *host.Call) host.Answer { return l.try(ctx, c) }

func (l *liar) Check(c *host.Call) error {
	if l.check != nil {
		return l.check(c)
	}
	return host.Check(l.Tool, c)
}

func (l *liar) Show(c *host.Call) ([]byte, error) {
	if l.show != nil {
		return l.show(c)
	}
	return c.Body, nil
}

type askedLiar struct{ *liar }

func (l askedLiar) Verify(ctx context.Context, c *host.Call) host.Verdict { return l.verify(ctx, c) }

func verdict(found bool) host.Verdict {
	if found {
		return host.Verdict{Kind: host.Found}
	}
	return host.Verdict{Kind: host.Absent}
}

// Each row is a lie of some tool, and a part of what the author is told.
//
// Seen red, row by row, with the tool honest instead.
func TestLiesAreCaught(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		class host.Class
		lie   func(b *bank, l *liar)
		want  string
	}{
		"a read that changes something": {host.Read, func(b *bank, l *liar) {
			l.try = func(_ context.Context, c *host.Call) host.Answer {
				c.Sent()
				b.apply(c.Key, 1, false)
				return host.Answer{Outcome: host.OutcomeApplied}
			}
		}, "a read changed something"},
		"keyed without keys": {host.Keyed, func(b *bank, l *liar) {
			l.Tool = host.Func("pay", b.pay(host.Once), nil)
			l.try = l.Tool.Try
		}, "one key had a second effect"},
		"keyed by the request": {host.Keyed, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				other := *c
				copy(other.Key[:], fmt.Sprintf("%16s", c.Body))
				return l.Tool.Try(ctx, &other)
			}
		}, "under another key had no effect"},
		"keyed with another answer": {host.Keyed, func(_ *bank, l *liar) {
			n := 0
			var mu sync.Mutex
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				mu.Lock()
				defer mu.Unlock()
				n++
				a.Response.Body = fmt.Append(nil, n)
				return a
			}
		}, "the second "},
		"keyed, a second one is called a refusal": {host.Keyed, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				if _, ok := b.knows(c.Key); ok {
					c.Sent()
					return host.Answer{Outcome: host.OutcomeRejected, Settles: true}
				}
				return l.Tool.Try(ctx, c)
			}
		}, "though it is applied"},
		"keyed, but not at once": {host.Keyed, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				if _, known := b.knows(c.Key); known {
					return l.Tool.Try(ctx, c)
				}
				b.meet(c.Key) // between looking and applying
				c.Sent()
				b.apply(c.Key, 1, false)
				return host.Answer{Outcome: host.OutcomeApplied}
			}
		}, "one key had"},
		"verify does not find what was applied": {host.Verify, func(_ *bank, l *liar) {
			l.verify = func(context.Context, *host.Call) host.Verdict { return verdict(false) }
		}, "after it was applied, Verify says absent"},
		"verify finds everything": {host.Verify, func(_ *bank, l *liar) {
			l.verify = func(context.Context, *host.Call) host.Verdict { return verdict(true) }
		}, "before the call, Verify says found"},
		"verify looks for the request": {host.Verify, func(b *bank, l *liar) {
			l.verify = func(_ context.Context, c *host.Call) host.Verdict {
				return verdict(b.tookOrder(c.Body))
			}
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				b.takeOrder(c.Body)
				return a
			}
		}, "for another key of the same request, Verify says found"},
		"verify takes a noted refusal for the effect": {host.Verify, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeRejected {
					b.takeOrder(c.Key[:])
				}
				return a
			}
			l.verify = func(_ context.Context, c *host.Call) host.Verdict {
				_, ok := b.knows(c.Key)
				return verdict(ok || b.tookOrder(c.Key[:]))
			}
		}, "a query about what was refused: Verify says found"},
		"verify takes a noted key for the effect": {host.Verify, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeUnknown {
					b.takeOrder(c.Key[:])
				}
				return a
			}
			l.verify = func(_ context.Context, c *host.Call) host.Verdict {
				_, ok := b.knows(c.Key)
				return verdict(ok || b.tookOrder(c.Key[:]))
			}
		}, "a query about what was lost: Verify says found"},
		"verify changes something": {host.Verify, func(b *bank, l *liar) {
			l.verify = func(_ context.Context, c *host.Call) host.Verdict {
				_, ok := b.knows(c.Key)
				b.apply(host.Key{}, 0, false)
				return verdict(ok)
			}
		}, "Verify changed something"},
		"verify takes no answer for absent": {host.Verify, func(b *bank, l *liar) {
			l.verify = func(ctx context.Context, c *host.Call) host.Verdict {
				_, ok := b.knows(c.Key)
				return verdict(ok && ctx.Err() == nil)
			}
		}, "no answer is not absent"},
		"verify panics": {host.Verify, func(_ *bank, l *liar) {
			l.verify = func(context.Context, *host.Call) host.Verdict { panic("a bug") }
		}, "it panicked: a bug"},
		"once takes a lost answer for a refusal": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeUnknown {
					a.Outcome = host.OutcomeRejected
				}
				return a
			}
		}, "Try says rejected, and the receiver applied the call"},
		"once takes a lost answer for not applied": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeUnknown {
					a.Outcome = host.OutcomeNotApplied
				}
				return a
			}
		}, "Try says not_applied, and the receiver applied the call"},
		"once takes no answer for applied": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeUnknown {
					a.Outcome = host.OutcomeApplied
				}
				return a
			}
		}, "the receiver dropped the sending"},
		"a refusal that is called unknown": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeRejected {
					a.Outcome = host.OutcomeUnknown
				}
				return a
			}
		}, "the receiver refuses it for good, and Try says unknown"},
		"a refusal that did something": {host.Once, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeRejected {
					b.apply(c.Key, 1, false)
				}
				return a
			}
		}, "Try says rejected, and the receiver applied the call"},
		"it sends again by itself": {host.Keyed, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				if a.Outcome == host.OutcomeUnknown {
					quiet := *c
					quiet.Sent = func() {}
					a = l.Tool.Try(ctx, &quiet)
				}
				return a
			}
		}, "Try sent it again by itself"},
		"it sends twice": {host.Once, func(b *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				b.apply(c.Key, 1, false)
				return a
			}
		}, "it must not send twice"},
		"it does not announce": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				quiet := *c
				quiet.Sent = func() {}
				return l.Tool.Try(ctx, &quiet)
			}
		}, "Try did not call Sent"},
		"a read does not announce": {host.Read, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				quiet := *c
				quiet.Sent = func() {}
				return l.Tool.Try(ctx, &quiet)
			}
		}, "Try called Sent 0 times"},
		"it announces twice": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				c.Sent()
				return l.Tool.Try(ctx, c)
			}
		}, "called Sent 2 times"},
		"it announces afterwards": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				quiet := *c
				quiet.Sent = func() {}
				a := l.Tool.Try(ctx, &quiet)
				c.Sent()
				return a
			}
		}, "Sent was called after the receiver had applied"},
		"it says applied and nothing happened": {host.Once, func(_ *bank, l *liar) {
			l.try = func(_ context.Context, c *host.Call) host.Answer {
				c.Sent()
				return host.Answer{Outcome: host.OutcomeApplied}
			}
		}, "Try says applied, and the receiver has 0 effects more"},
		"it does not hear of the end": {host.Read, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				return l.Tool.Try(context.WithoutCancel(ctx), c)
			}
		}, "Try did not return within"},
		"it panics": {host.Once, func(_ *bank, l *liar) {
			l.try = func(context.Context, *host.Call) host.Answer { panic("a bug") }
		}, "it panicked: a bug"},
		"it panics over a request": {host.Once, func(_ *bank, l *liar) {
			l.check = func(c *host.Call) error {
				if c.Body[0] == '[' {
					return nil
				}
				return host.Check(l.Tool, c)
			}
		}, "it panicked"},
		"it refuses what it takes": {host.Once, func(_ *bank, l *liar) {
			l.check = func(*host.Call) error { return errLost }
		}, "Check refuses a plain request"},
		"it sends what it refuses": {host.Once, func(_ *bank, l *liar) {
			l.check = func(c *host.Call) error {
				if string(c.Body) == "null" {
					return errLost
				}
				return host.Check(l.Tool, c)
			}
		}, `Check refuses "null", and Try sends it`},
		"its contract changes": {host.Once, func(_ *bank, l *liar) {
			n := 0
			l.change = func() host.Contract { n++; return host.Contract{Timeout: time.Duration(n) * time.Second} }
		}, "changes from one asking to the next"},
		"its contract makes no sense": {host.Once, func(_ *bank, l *liar) {
			l.change = func() host.Contract { return host.Contract{Effect: host.Verify} }
		}, "contract: "},
		"a secret is in the answer": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				a.Response.Body = []byte(`"Bearer tok_123"`)
				return a
			}
		}, "secret 0 is in an answer"},
		"a secret is in a message": {host.Once, func(_ *bank, l *liar) {
			l.try = func(ctx context.Context, c *host.Call) host.Answer {
				a := l.Tool.Try(ctx, c)
				a.Message = "token tok_123"
				return a
			}
		}, "secret 0 is in an answer"},
		"a secret is shown": {host.Once, func(_ *bank, l *liar) {
			l.show = func(c *host.Call) ([]byte, error) { return append([]byte("tok_123"), c.Body...), nil }
		}, "secret 0 is in what is shown"},
		"the key is shown": {host.Once, func(_ *bank, l *liar) {
			l.show = func(c *host.Call) ([]byte, error) { return append([]byte(c.Key.String()), c.Body...), nil }
		}, "nobody could approve it"},
		"all is shown as one": {host.Once, func(_ *bank, l *liar) {
			l.show = func(*host.Call) ([]byte, error) { return []byte("POST"), nil }
		}, "two requests are shown as one"},
		"showing sends": {host.Once, func(b *bank, l *liar) {
			l.show = func(c *host.Call) ([]byte, error) { b.apply(c.Key, 1, false); return c.Body, nil }
		}, "Show changed something"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank()
			l := &liar{Tool: host.Func("pay", b.pay(row.class), nil), class: row.class}
			l.try = l.Tool.Try
			if row.class == host.Verify {
				l.verify = func(_ context.Context, c *host.Call) host.Verdict {
					_, ok := b.knows(c.Key)
					return verdict(ok)
				}
			}
			row.lie(b, l)
			var tool host.Tool = l
			if l.verify != nil {
				tool = askedLiar{l}
			}
			p, opts := &paper{TB: t}, b.options()
			opts.Patience = time.Second
			hosttest.Exercise(p, tool, request, b.count, opts)
			if told := strings.Join(p.wrong, "\n"); !strings.Contains(told, row.want) {
				t.Errorf("not caught: want %q in\n%s", row.want, told)
			}
		})
	}
}
