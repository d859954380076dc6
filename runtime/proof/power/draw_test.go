package power_test

import (
	"fmt"

	"pgregory.net/rapid"
)

// drawPlan draws a plan. What is rare in it is what ends a run early, or what
// leaves it to a person: most crashes should hit work.
func drawPlan(t *rapid.T) *Plan {
	p := &Plan{
		Seed:   rapid.Uint64Range(0, 1<<20).Draw(t, "seed"),
		Shared: chance(t, 4, "shared"),
		Peek:   chance(t, 2, "peek"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "flows") {
		p.Flows = append(p.Flows, drawFlow(t))
	}
	lives := 10 - rapid.IntRange(0, 10).Draw(t, "lives left out") // most often many: small numbers are likelier
	runs := rapid.IntRange(2, 10).Draw(t, "runs")
	for i := range runs { // some work for each life
		p.Runs = append(p.Runs, Run{rapid.IntRange(0, len(p.Flows)-1).Draw(t, "flow"), i * (lives + 1) / runs})
	}
	for range lives {
		p.Lives = append(p.Lives, drawLife(t, p.Shared))
	}
	return p
}

// chance is true once in n times.
func chance(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func drawFlow(t *rapid.T) (f Flow) {
	if chance(t, 20, "quarantine") {
		f.Recoveries = 2
	}
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		if chance(t, 3, "retries") {
			f.Steps = append(f.Steps, drawRetryingStep(t))
		} else {
			f.Steps = append(f.Steps, drawPlainStep(t))
		}
	}
	return f
}

// drawPlainStep draws a step whose calls work, or are rejected.
func drawPlainStep(t *rapid.T) (s Step) {
	tools := []string{"read", "paid", "keyed", "keyed", "billed", "asked", "asked", "once", "kv.put", "kv.get", "kv.delete"}
	for range rapid.IntRange(0, 5).Draw(t, "calls") {
		op := Op{Tool: rapid.SampledFrom(tools).Draw(t, "tool"), N: rapid.IntRange(0, 2).Draw(t, "n")}
		switch k := toolOf(op.Tool); {
		case k.inside:
		case chance(t, 6, "business key") && !k.reads() && op.Tool != "once":
			op.N += sharedFrom
			op.Key = fmt.Sprint("key-", op.N)
		case chance(t, 5, "unknown") && !k.reads():
			op.N, op.Unknown = seenUnknown, true
		}
		s.Ops = append(s.Ops, op)
	}
	if len(s.Ops) > 0 && chance(t, 8, "rejected") {
		if op := s.Ops[0]; !toolOf(op.Tool).inside && op.N < seenUnknown {
			s.Scripts = append(s.Scripts, Script{Tool: op.Tool, N: op.N, Rejected: true})
		}
	}
	return s
}

// drawRetryingStep draws a step some of whose calls do not work at first, and
// that goes other ways then.
func drawRetryingStep(t *rapid.T) (s Step) {
	tools := []string{"read", "paid", "keyed", "billed", "asked", "asked", "once"}
	draw := func() Op {
		return Op{Tool: rapid.SampledFrom(tools).Draw(t, "tool"), N: rapid.IntRange(0, 2).Draw(t, "n")}
	}
	for range rapid.IntRange(1, 5).Draw(t, "calls") {
		op := draw()
		if chance(t, 2, "may fail") {
			s.Scripts = append(s.Scripts, Script{
				Tool: op.Tool, N: op.N, Until: rapid.IntRange(2, 4).Draw(t, "until"), Rejected: chance(t, 10, "rejected"),
				After: rapid.SampledFrom([]int{0, 0, 0, 5, 25}).Draw(t, "retry after"),
			})
			op.Fail = rapid.SampledFrom([]string{"again", "again", "again", "fresh", "", "skip", "never"}).Draw(t, "fail")
			op.After = rapid.SampledFrom([]int{0, 0, 3, 60}).Draw(t, "after")
			for range rapid.IntRange(0, 2).Draw(t, "else") {
				op.Else = append(op.Else, draw())
			}
		}
		s.Ops = append(s.Ops, op)
	}
	return s
}

func drawLife(t *rapid.T, shared bool) Life {
	l := Life{
		ByHand:  chance(t, 3, "by hand"),
		Answers: rapid.SliceOfN(drawAnswer(), 0, 8).Draw(t, "answers"),
		End:     rapid.SampledFrom([]End{Cut, Cut, Cut, Kill, Kill, Stop}).Draw(t, "end"),
		At:      drawMoment(t),
		Down:    rapid.SampledFrom([]int{0, 0, 1, 15, 40, 70, 400, 7200}).Draw(t, "down"),
	}
	if chance(t, 4, "silent") {
		l.Silent = rapid.IntRange(1, 4).Draw(t, "queries")
	}
	if chance(t, 3, "faults") {
		for range rapid.IntRange(1, 2).Draw(t, "number of faults") {
			l.Faults = append(l.Faults, drawFault(t, shared))
		}
	}
	return l
}

func drawAnswer() *rapid.Generator[Answer] {
	return rapid.SampledFrom([]Answer{Well, Well, Well, Well, Well, Well, Lost, Landed, Hang, Stuck, Late, Tardy, Panic, Exit})
}

// drawMoment draws a moment that mostly comes while there is work.
func drawMoment(t *rapid.T) Moment {
	where := rapid.SampledFrom([]string{
		AtAsked, AtAsked, AtWritten, AtWritten, AtSynced, AtSynced, AtArrival, AtArrival, AtEffect, AtEffect, AtSeconds,
		"before_intent", "intent_durable", "sent", "answered", "receipt_durable", "begun", "returned", "checkpoint_durable",
		"claimed", "retrying", "asked", "attempt_failed", "waiting", "recovered",
	}).Draw(t, "where")
	most := 12
	switch where {
	case "claimed", "retrying", "asked", "attempt_failed", "waiting", "recovered":
		most = 3
	case AtSeconds:
		most = 90
	}
	return Moment{where, rapid.IntRange(1, most).Draw(t, "nth")}
}

func drawFault(t *rapid.T, shared bool) Fault {
	kinds := []FaultKind{FailCommit, FailCommit, FailRead, Full, Unopenable, Stall}
	if shared {
		kinds = append(kinds, Stall, Stall, Stall)
	}
	f := Fault{Kind: rapid.SampledFrom(kinds).Draw(t, "fault"), For: rapid.IntRange(1, 60).Draw(t, "for")}
	f.At = Moment{rapid.SampledFrom([]string{AtAsked, AtWritten, AtSynced, AtArrival, AtEffect}).Draw(t, "where"), rapid.IntRange(1, 8).Draw(t, "nth")}
	if f.Kind == Stall {
		f.At.Where = AtArrival
	}
	return f
}
