package kvtest

import (
	"testing"
	"time"

	"github.com/pawl-dev/pawl/kv"
)

// Config is the store that [Exercise] is to look at, and what the suite has to
// do to it from outside. Only Open is always needed. For each other hook but
// Pass that is nil Lacks has to say why: nothing is left out in silence.
type Config struct {
	// Open opens the store kept in dir, an empty or absent directory at first. The
	// suite closes what it opened before it opens dir again, unless the store
	// says that it is not exclusive.
	Open func(t testing.TB, dir string) kv.Store

	// Break makes the next physical commit of the store fail, so that it needs
	// [kv.Store.Reopen]. What becomes of that commit is up to the store.
	Break func(t testing.TB, store kv.Store)
	// Cut ends an open store as a power cut does. Dir is opened again after it.
	Cut func(t testing.TB, store kv.Store)
	// Fill takes the store's free space away, or gives it back.
	Fill func(t testing.TB, store kv.Store, full bool)
	// Hold makes dir, whose store is closed, what a copy of it would be.
	Hold func(t testing.TB, dir string)
	// Pass moves the store's clock on. Defaults to waiting so long, which costs
	// the suite some seconds.
	Pass func(t testing.TB, store kv.Store, d time.Duration)

	// Lacks says why the store or its tests lack an ability. The rules that need
	// it are skipped with that text.
	Lacks map[Ability]string

	// patience is how long something that must happen may take. A store that
	// keeps the contract never lets a rule wait so long. Defaults to ten seconds.
	patience time.Duration
}

// Ability is something that rules of the suite need.
type Ability string

// The abilities that [Config.Lacks] can take out.
const (
	// Breaking, Cutting, Filling and Holding need the hooks of [Config].
	Breaking Ability = "Break"
	Cutting  Ability = "Cut"
	Filling  Ability = "Fill"
	Holding  Ability = "Hold"
	// Leasing, Watching, Expiring and Reporting (health) need a whole store.
	Leasing   Ability = "leases"
	Watching  Ability = "watching"
	Expiring  Ability = "expiring keys"
	Reporting Ability = "health"
	// Sharing is that dir can be open more than once. A store that says it is
	// exclusive must lack it, and only such a one may.
	Sharing Ability = "sharing"
)

// check fails the test if a hook is neither there nor explained.
func (c *Config) check(t testing.TB) {
	t.Helper()
	for ability, there := range map[Ability]bool{
		Breaking: c.Break != nil, Cutting: c.Cut != nil, Filling: c.Fill != nil, Holding: c.Hold != nil,
	} {
		if why, lacks := c.Lacks[ability]; lacks == there {
			t.Errorf("Config.%s is set: %v; Config.Lacks[%q] is %q: give one of them", ability, there, ability, why)
		}
	}
	for ability, why := range c.Lacks {
		if why == "" {
			t.Errorf("Config.Lacks[%q] does not say why", ability)
		}
	}
}

// lacking returns why one of the abilities is not there, or "".
func (c *Config) lacking(needs []Ability) string {
	for _, ability := range needs {
		if why := c.Lacks[ability]; why != "" {
			return string(ability) + ": " + why
		}
	}
	return ""
}
