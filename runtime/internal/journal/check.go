package journal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-dev/pawl/kv"
)

// Check reads everything that the runtime keeps and returns what does not fit
// together; nil for a sound store. It changes nothing.
func (b *Book) Check() []error {
	var problems []error
	note := func(format string, args ...any) { problems = append(problems, fmt.Errorf("pawl: "+format, args...)) }
	err := b.store.View(func(v kv.View) error {
		c := &checker{view: v, note: note, states: map[string]*State{}, ended: map[string]bool{}, deployed: map[string]error{}}
		return errors.Join(c.runs(), c.open(), c.completed(), c.externals(), c.pairs(), c.labels(), c.checkBusiness())
	})
	if err != nil {
		problems = append(problems, err)
	}
	return problems
}

// checker walks one view.
type checker struct {
	view   kv.View
	note   func(format string, args ...any)
	states map[string]*State
	ended  map[string]bool
	opened map[string]bool
	// deployed is what was found out about a workflow, by digest.
	deployed map[string]error
}

// runs folds every run and reads every body that it names.
func (c *checker) runs() error {
	for id, from := "", prefixRun; ; from = join(prefixRun, id) {
		var err error
		if id, err = runBefore(c.view, from); err != nil || id == "" {
			return err
		}
		s, err := load(c.view, id)
		if err != nil {
			c.note("%w", err)
			c.states[id] = nil
			continue
		}
		c.states[id] = s.State
		c.bodies(s)
		c.logs(s)
		if err := c.workflow(s.Start.Digest); err != nil {
			c.note("run %s: %w", id, err)
		}
	}
}

func (c *checker) bodies(s *Snapshot) {
	bodies := []*kv.Body{&s.Start.Input}
	for _, st := range s.Steps {
		bodies = append(bodies, st.Output)
		for _, call := range slices.Concat(st.Calls, st.Unclaimed) {
			bodies = append(bodies, &call.Request)
			if call.Receipt != nil {
				bodies = append(bodies, &call.Receipt.Response)
			}
		}
	}
	for _, body := range bodies {
		if _, err := s.Body(body); err != nil {
			c.note("%w", err)
		}
	}
}

// workflow makes sure that a run has the code it was begun with. Each workflow
// is read once.
func (c *checker) workflow(digest string) error {
	err, known := c.deployed[digest]
	if !known {
		err = c.readWorkflow(digest)
		c.deployed[digest] = err
	}
	return err
}

func (c *checker) readWorkflow(digest string) error {
	d, err := readDeployed(c.view, digest)
	if err != nil {
		return err
	}
	if _, err := readFiles(c.view, digest, d); err != nil {
		return err
	}
	for _, ref := range d.Modules {
		if _, err := readModule(c.view, ref); err != nil {
			return err
		}
	}
	return nil
}

// open compares the list of runs that are not ended with the runs.
func (c *checker) open() error {
	c.opened = map[string]bool{}
	for item, err := range c.view.Scan(kv.Range{Prefix: prefixOpen}) {
		if err != nil {
			return err
		}
		run := string(item.Key[len(prefixOpen):])
		c.opened[run] = true
		if s, ok := c.states[run]; !ok {
			c.note("run %s is listed as open and does not exist", run)
		} else if s != nil && s.Ended() {
			c.note("run %s is listed as open and has ended", run)
		} else if s != nil {
			c.checkListing(run, item.Key, item.Value, s)
		}
	}
	return nil
}

// completed compares the list of ended runs with the runs.
func (c *checker) completed() error {
	for item, err := range c.view.Scan(kv.Range{Prefix: prefixEnded}) {
		if err != nil {
			return err
		}
		if len(item.Key) < len(prefixEnded)+8 {
			c.note("undecodable record at %q", item.Key)
			continue
		}
		run := string(item.Key[len(prefixEnded)+8:])
		c.ended[run] = true
		if s, ok := c.states[run]; !ok || (s != nil && !s.Ended()) {
			c.note("run %s is listed as ended and has not", run)
		} else if s != nil && !bytes.Equal(item.Value, []byte{Format}) { // what programs wrote that kept no listing
			c.checkListing(run, item.Key, item.Value, s)
		}
	}
	return nil
}

// externals compares the external ids with the runs.
func (c *checker) externals() error {
	named := map[string]bool{}
	for item, err := range c.view.Scan(kv.Range{Prefix: prefixExternal}) {
		if err != nil {
			return err
		}
		var ext external
		if err := decode(item.Value, &ext); err != nil {
			c.note("undecodable record at %q: %w", item.Key, err)
			continue
		}
		named[ext.Run] = true
		id := bytes.TrimPrefix(item.Key, prefixExternal)
		if s, ok := c.states[ext.Run]; !ok || (s != nil && s.Start.ExternalID != string(id)) {
			c.note("external id %q names run %s, which is another's", id, ext.Run)
		}
	}
	for run, s := range c.states {
		if s != nil && !named[run] {
			c.note("run %s is not found by its external id %q", run, s.Start.ExternalID)
		}
	}
	return nil
}

// pairs makes sure that every run is in exactly one of the two lists.
func (c *checker) pairs() error {
	for run, s := range c.states {
		switch {
		case s == nil:
		case s.Ended() && !c.ended[run]:
			c.note("run %s has ended and is not listed so", run)
		case !s.Ended() && !c.opened[run]:
			c.note("run %s is open and is not listed so", run)
		}
	}
	return nil
}
