package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// runList is a page of runs.
type runList struct {
	Items      []pawl.Summary        `json:"items"`
	NextCursor *string               `json:"next_cursor"` // null on the last page
	Counts     map[string]stateCount `json:"counts"`      // by state
}

// stateCount is how many runs are in a state, and for which reasons.
type stateCount struct {
	Runs    int            `json:"runs"`
	Reasons map[string]int `json:"reasons"` // by code; a state without reasons has none
}

func (s *server) listRuns(c echo.Context) error {
	q, err := queryOf(c.QueryParams())
	if err != nil {
		return err
	}
	page, err := s.list(c.Request().Context(), q)
	if err != nil {
		return err
	}
	list := runList{Items: page.Items, Counts: map[string]stateCount{}}
	if page.Next != "" {
		list.NextCursor = &page.Next
	}
	for _, n := range page.Counts {
		count, ok := list.Counts[string(n.State)]
		if !ok {
			count.Reasons = map[string]int{}
		}
		count.Runs += n.Runs
		if n.Reason != "" {
			count.Reasons[n.Reason] += n.Runs
		}
		list.Counts[string(n.State)] = count
	}
	return answer(c, http.StatusOK, list)
}

// queryOf reads which runs are asked for. A parameter that is not known is an
// error: ignored, it would select what nobody asked for.
func queryOf(values url.Values) (*pawl.Query, error) {
	q := new(pawl.Query)
	for name, given := range values {
		value := given[0]
		if len(given) > 1 {
			return nil, fmt.Errorf("%w: %s is given twice", errRequest, name)
		}
		label, isLabel := strings.CutPrefix(name, "label.")
		switch {
		case isLabel && label != "":
			if q.Label != "" {
				return nil, fmt.Errorf("%w: one label can be asked for, and these are two", errRequest)
			}
			q.Label, q.Value = label, value
		case name == "state":
			q.State = pawl.RunState(value)
			if value != "" && !slices.Contains(pawl.RunStates(), q.State) {
				return nil, fmt.Errorf("%w: state %q: want one of %v", errRequest, value, pawl.RunStates())
			}
		case name == "reason":
			q.Reason = value
		case name == "workflow":
			q.Workflow = value
		case name == "text":
			q.Text = value
		case name == "cursor":
			q.After = value
		case name == "limit":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 || n > pawl.MaxPage {
				return nil, fmt.Errorf("%w: limit %q: want 1 to %d", errRequest, value, pawl.MaxPage)
			}
			q.Limit = n
		default:
			return nil, fmt.Errorf("%w: there is no parameter %q: want state, reason, workflow, label.NAME, text, cursor, limit", errRequest, name)
		}
	}
	return q, nil
}
