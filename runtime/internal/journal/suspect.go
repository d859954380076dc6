package journal

import "encoding/json"

// kindOutside is the kind of Pawl's own tool: a process that ends while a run
// waits there was not ended by the run.
const kindOutside = "http"

// Suspect reports whether the run may have ended the process that executed it:
// its attempt is open, was not left in good order, and was inside guest code or
// a tool within the program.
func (s *State) Suspect() bool {
	return s.Phase == PhaseOpen && !s.Clean && !s.outside()
}

// outside reports whether the open attempt waits in a call of Pawl's own tool.
func (s *State) outside() bool {
	if s.Current >= len(s.Steps) {
		return false
	}
	for _, c := range s.Steps[s.Current].Calls {
		if c.Receipt == nil {
			var contract struct{ Kind string }
			err := json.Unmarshal(s.Start.Pins.Tools[c.Tool], &contract)
			return err == nil && contract.Kind == kindOutside
		}
	}
	return false
}

// InARow is how often the open attempt was charged a recovery at the position
// where it stands.
func (s *State) InARow() int { return s.recoveriesHere() }
