package web

import (
	"fmt"
	"time"
)

// moment is a time as a page shows it: in words relative to now, and exactly.
type moment struct {
	Datetime string // for machines
	Exact    string
	Relative string
}

// at makes the moment of a time; nil for the zero time.
func at(t, now time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &moment{
		Datetime: t.Format(time.RFC3339Nano),
		Exact:    t.Format("2006-01-02 15:04:05.000 MST"),
		Relative: relative(now.Sub(t)),
	}
}

// relative writes how long ago something was; it is yet to come if ago is negative.
func relative(ago time.Duration) string {
	switch {
	case ago > -time.Second && ago < 5*time.Second:
		return "just now"
	case ago < 0:
		return "in " + roughly(-ago)
	}
	return roughly(ago) + " ago"
}

// roughly writes a duration with one unit, two where that says much more.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %02d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// lasted writes how long something took.
func lasted(d time.Duration) string {
	switch {
	case d < 0:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return roughly(d)
}
