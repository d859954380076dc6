package web

import (
	"fmt"
	"time"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// healthView is the page of the engine and its store.
type healthView struct {
	Alarm    *alarm
	Store    badge
	Reason   string
	Facts    []factView
	Runs     []factView
	Recovery *recoveryView
}

// recoveryView is the report of the last recovery.
type recoveryView struct {
	At    *moment
	Stops string
	Open  string
	Rows  []recoveryRow
}

type recoveryRow struct{ Runs, Text string }

// alarm is what everybody should know who looks at runs.
type alarm struct {
	Title, Text string
	Recover     bool // a button lets the recovery go
}

// newAlarm is nil if all is well.
func newAlarm(h *pawl.Health) *alarm {
	switch condition := conditionBadge(h); {
	case h.Paused:
		return &alarm{"The recovery is paused", "Runs that were open stand as they were left. You can look at them first, and resume single ones. Going on with them enters each as after a crash: no completed step runs again, an unknown outcome is found out by its tool's rules, and what needs a person keeps waiting.", true}
	case condition.Tone == "bad":
		return &alarm{"The store " + condition.Text, h.Store.Reason, false}
	case !h.Since.IsZero():
		return &alarm{"Nothing is executed", "The store failed and is being opened anew; runs go on by themselves then.", false}
	}
	return nil
}

func newHealthView(h *pawl.Health, now time.Time) *healthView {
	v := &healthView{Alarm: newAlarm(h), Store: conditionBadge(h), Reason: h.Store.Reason, Recovery: newRecovery(h.Recovery, now)}
	s := &h.Store
	v.Facts = []factView{
		{"size on the disk", known(s.Size)},
		{"free space", known(s.Free)},
		{"reserve that stays free", known(s.Reserve)},
		{"how a commit reaches the disk", unknownIfEmpty(s.SyncMode)},
		{"batches committed", grouped(int64(s.Commits)) + perSecond(s.CommitRate)},
		{"syncs", grouped(int64(s.Syncs)) + perSecond(s.SyncRate)},
	}
	if !h.Since.IsZero() {
		v.Facts = append(v.Facts, factView{"nothing executed since", at(h.Since, now).Exact})
	}
	v.Runs = []factView{
		{"not ended", counts(h.Open)},
		{"executed now", counts(h.Live)},
		{"waiting for their timer", counts(h.Waiting)},
		{"entered later by the engine", counts(h.Expected)},
	}
	return v
}

// conditionBadge says how the store is: "The store ...".
func conditionBadge(h *pawl.Health) badge {
	switch h.Store.Condition {
	case "ok":
		return badge{"✓", "is well", "good"}
	case "no_space":
		return badge{"!", "has too little space", "bad"}
	}
	return badge{"!", "is " + words(string(h.Store.Condition)), "bad"}
}

func known(n int64) string {
	if n == 0 {
		return "not known"
	}
	return bytesOf(n)
}

func unknownIfEmpty(s string) string {
	if s == "" {
		return "not known"
	}
	return s
}

func perSecond(rate float64) string { return fmt.Sprintf(", %.1f a second in the last minute", rate) }

func newRecovery(r *pawl.Recovery, now time.Time) *recoveryView {
	if r == nil {
		return nil
	}
	v := &recoveryView{At: at(r.At, now), Open: counted(int64(r.Open), "run")}
	if r.Stops > 0 {
		v.Stops = counted(int64(r.Stops), "unclean stop")
	}
	for _, row := range []struct {
		n    int
		text string
	}{
		{r.WentOn, "went on by themselves"},
		{r.Waiting, "wait for their timer"},
		{r.NeedPerson, "need a decision"},
		{r.Failed, "hold after a failure"},
		{r.Incompatible, "are incompatible with this program"},
		{r.Held, "are held with the store"},
		{r.Elsewhere, "are executed by another engine"},
		{r.Unreadable, "could not be read"},
		{r.Queued, "are entered slowly, one after the other"},
	} {
		if row.n > 0 {
			v.Rows = append(v.Rows, recoveryRow{counts(row.n), row.text})
		}
	}
	return v
}
