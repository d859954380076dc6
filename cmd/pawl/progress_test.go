package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pawl-dev/pawl/host"
	pawl "github.com/pawl-dev/pawl/runtime"
)

// watched is a progress of a run with two steps, and what it wrote.
func watched() (*progress, *bytes.Buffer) {
	var out bytes.Buffer
	p := newProgress(&Globals{stderr: &out})
	p.begin(&pawl.Checkpoint{
		ExternalID: "r", Title: "A run", Workflow: pawl.WorkflowID{Name: "w", Version: "1"},
		Steps: []pawl.StepCheckpoint{{Name: "first"}, {Name: "second"}},
	})
	return p, &out
}

// written is what the progress has written so far.
func written(p *progress, out *bytes.Buffer) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return out.String()
}

const head = "run r  \"A run\"  w 1\n"

// Seen red with the queue's order left out, and with nothing held back.
func TestLinesStandWhereTheyBelong(t *testing.T) {
	t.Parallel()
	applied := func(step, tool string, seq uint64) pawl.Event {
		return pawl.Event{Kind: pawl.ReceiptDurable, Step: step, Tool: tool, Seq: seq, Class: host.Keyed, Outcome: host.OutcomeApplied}
	}
	logged := func(step, text string, seq uint64) pawl.Event {
		return pawl.Event{Kind: pawl.Logged, Step: step, Message: text, Seq: seq}
	}
	done := func(step string, seq uint64) pawl.Event {
		return pawl.Event{Kind: pawl.CheckpointDurable, Step: step, Seq: seq, Call: -1}
	}
	for name, row := range map[string]struct {
		events []pawl.Event
		want   string
	}{
		"a log line of the guest comes before its call is durable": {
			[]pawl.Event{logged("first", "paid", 3), applied("first", "pay", 3)},
			"  first      pay             applied        0 ms\n             | paid\n",
		},
		"the next step's log line comes before the end of the first is durable": {
			[]pawl.Event{logged("second", "begins", 4), applied("first", "pay", 3), done("first", 4)},
			"  first      pay             applied        0 ms\n  second     | begins\n",
		},
		"a step that makes no call": {
			[]pawl.Event{{Kind: pawl.Returned, Step: "first", Elapsed: 2 * time.Second, Seq: 2}, done("first", 3), applied("second", "pay", 5)},
			"  first      done          2.0 s\n  second     pay             applied        0 ms\n",
		},
		"a step that makes no call and fails": {
			[]pawl.Event{done("first", 3), {Kind: pawl.AttemptFailed, Step: "first", Attempt: 1, Seq: 3, Code: "odd", Message: "no"}},
			"  first      attempt 1 failed  odd: no\n",
		},
		"a step that waits for a person": {
			[]pawl.Event{done("first", 3), {Kind: pawl.Parked, Step: "first", Seq: 3, Message: "who knows"}},
			"  first      needs a person  who knows\n",
		},
		"a call that an earlier attempt made": {
			[]pawl.Event{{Kind: pawl.Claimed, Step: "first", Tool: "pay", Class: host.Keyed, Outcome: host.OutcomeApplied, Seq: 3}},
			"  first      pay             applied      as before; nothing is sent\n",
		},
		"a call that waits": {
			[]pawl.Event{done("first", 3), {Kind: pawl.Waiting, Step: "first", Seq: 3, Message: "pay refused the credentials"}},
			"  first      waits  pay refused the credentials\n",
		},
		"a read is repeated": {
			[]pawl.Event{
				{Kind: pawl.Retrying, Step: "first", Tool: "get", Class: host.Read, Try: 1, Tries: 3, Seq: 3, Message: "no answer within 400ms"},
				{Kind: pawl.IntentDurable, Step: "first", Tool: "get", Seq: 4},
			},
			"  first      get             no answer within 400ms (try 1 of 3). A read: repeating is safe\n",
		},
		"text that would move the cursor": {
			[]pawl.Event{logged("first", "a\x1b[2Jb\r", 3), done("first", 3)},
			"  first      | a\ufffd[2Jb\ufffd\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out := watched()
			for _, e := range row.events {
				p.observe(e)
			}
			p.end()
			if diff := cmp.Diff(head+row.want, written(p, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Seen red with the timer left out.
func TestALogLineWaitsForNobodyForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, out := watched()
		p.observe(pawl.Event{Kind: pawl.Logged, Step: "first", Message: "thinking", Seq: 3})
		if got := written(p, out); got != head {
			t.Errorf("written at once: %q", got)
		}
		time.Sleep(lateAfter)
		synctest.Wait()
		if got := written(p, out); got != head+"  first      | thinking\n" {
			t.Errorf("not written after %s: %q", lateAfter, got)
		}
	})
}

func TestNothingIsWrittenBeforeTheHead(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&Globals{stderr: &out})
	p.observe(pawl.Event{Kind: pawl.Refused, Step: "first", Tool: "get", Message: "no grant", Seq: 1})
	p.observe(pawl.Event{Kind: pawl.Completed, Seq: 9})
	if out.Len() > 0 {
		t.Errorf("written: %q", &out)
	}
	p.begin(&pawl.Checkpoint{ExternalID: "r", Title: "A run", Workflow: pawl.WorkflowID{Name: "w", Version: "1"}})
	if got := written(p, &out); got != head+"  first      get             refused  no grant\n" {
		t.Errorf("written: %q", got)
	}
}
