package journal

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pawl-dev/pawl/host"
	"github.com/pawl-dev/pawl/host/abi"
	"github.com/pawl-dev/pawl/kv"
)

// Phase is what a run, or one of its steps, is up to.
type Phase string

// The phases.
const (
	PhasePending   Phase = "pending"        // not begun (steps only)
	PhaseOpen      Phase = "open"           // an attempt is begun and not ended
	PhaseWaiting   Phase = "waiting"        // for a timer, or for what a call waits for
	PhaseFailed    Phase = "failed"         // holds; not ended
	PhaseDecision  Phase = "needs_decision" // parked until a person acts
	PhaseCompleted Phase = "completed"
)

// State is a run as its records tell it. It is only changed by apply.
type State struct {
	Start   *Start
	Started time.Time
	Seq     uint64
	Updated time.Time
	Phase   Phase
	Current int // index of the step that is next or under way; len(Steps) at the end
	Steps   []*Step
	Used    Used
	// Park is set in PhaseDecision.
	Park *Park
	// Wait is set in PhaseWaiting if a call of the open attempt waits; otherwise
	// the next attempt does.
	Wait *Wait
	// Clean says that the open attempt was left in good order.
	Clean bool
	// LastError is the last failed attempt; it stays after a later success.
	LastError   *Fail
	LastErrorAt time.Time
	// Upgrades are the moves to other versions, in order.
	Upgrades []Upgraded
	// FailedCall is the call that the last failure ended with, as it was.
	FailedCall *Call

	recoveredAt [3]int // step, attempt and position of the last recovery
	worked      int64  // what is recorded of the work of the open attempt
	pins        uint64 // see pinned; 0 until somebody asks
}

// Step is a step of a run.
type Step struct {
	Name     string
	Phase    Phase
	Attempts int
	// At is the step's recorded time: the guest's clock starts here.
	At    time.Time
	Ended time.Time
	// Next is when the next attempt is due, in PhaseWaiting.
	Next time.Time
	// Calls are the line of the last attempt, in order. Before that attempt has
	// made one of them again it is the line of the attempt before.
	Calls []*Call
	// Unclaimed are calls of earlier attempts that are not in the line, the
	// oldest first.
	Unclaimed []*Call
	Output    *kv.Body
	// Spared are the attempts that do not count against the step's own limit:
	// those of an earlier version.
	Spared int
	// Failure is the last failure, if the last attempt failed.
	Failure *Fail
}

// Call is one call of a step: what the last attempt that made it knows.
type Call struct {
	Attempt    int    // the attempt that made it (again), or claimed it
	Seq        uint64 // number of the entry that holds its intent
	Grant      string
	Tool       string
	Class      host.Class
	Key        host.Key
	Hash       host.Hash
	Type       string
	Request    kv.Body
	Occurrence uint32
	Generation uint32
	Charged    bool
	// Refused calls have no key and were never sent.
	Refused bool
	Tries   int
	// Spared is the last try whose charge was given back, since it met refused
	// credentials.
	Spared      int
	First, Last time.Time
	Receipt     *Receipt // nil while the outcome is not known
	// Receiver is who the last try went to; Shown is the hash of the request as
	// people see it.
	Receiver string
	Shown    host.Hash
	// Waited is where the call stood when it left to wait, if nothing was sent
	// since.
	Waited   *Waited
	Business string // the business key, cut; empty for none
	// SeeUnknown says that the step opted in to be told of an unknown outcome.
	SeeUnknown bool
	// Stale says that the next attempt must make the call again although it
	// was answered: its step failed as "not ready yet".
	Stale bool
	// Claimed says that the attempt did not make the call: an earlier one did.
	Claimed bool
	// Borrowed names the run that made the call, if it is another call that had
	// the same business key.
	Borrowed string

	line, place int // attempt whose line it was last part of, and its index there
}

// Status is what the guest was told, if it was told anything.
func (c *Call) Status() abi.Status { return abi.Status(c.Receipt.Status) }

// Again reports whether attempt makes the call again instead of taking the
// recorded answer. A call that was settled because the program stopped was
// never answered to the guest: the same attempt makes it again.
func (c *Call) Again(attempt int) bool {
	if c.Receipt == nil {
		return false
	}
	if c.Receipt.Code == host.CodeStopped {
		return true
	}
	return c.Attempt < attempt && (c.Stale || c.Status().Retryable())
}

// Written reports whether the call is a completed write.
func (c *Call) Written() bool {
	return c.Stands() && host.Outcome(c.Receipt.Outcome) == host.OutcomeApplied
}

// apply folds one entry into the state. It is the one place where a record
// gets its meaning. An error means that the records contradict each other.
func (s *State) apply(seq uint64, e *entry) error {
	at := fromMicros(e.At)
	s.Seq, s.Updated = seq, at
	s.Used.Active += time.Duration(e.Active) * time.Microsecond
	s.work(e.Work) // before the records, which may end the attempt
	for i := range e.Records {
		if err := s.applyRecord(&e.Records[i], at); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) applyRecord(r *Record, at time.Time) error {
	if r.Start != nil {
		return s.start(r.Start, at)
	}
	if s.Start == nil {
		return fmt.Errorf("a record before the run's start")
	}
	switch {
	case r.Begin != nil:
		return s.begin(r.Begin, at)
	case r.Intent != nil:
		return s.intent(r.Intent, at)
	case r.Retry != nil:
		return s.retry(r.Retry, at)
	case r.Receipt != nil:
		return s.receipt(r.Receipt)
	case r.Refusal != nil:
		return s.refusal(r.Refusal, at)
	case r.Fail != nil:
		return s.fail(r.Fail, at)
	case r.Done != nil:
		return s.done(r.Done, at)
	case r.Park != nil:
		return s.park(r.Park)
	case r.Recover != nil:
		return s.recovered(r.Recover)
	case r.Claim != nil:
		return s.claim(r.Claim)
	case r.Borrow != nil:
		return s.borrow(r.Borrow, at)
	case r.Wait != nil:
		return s.wait(r.Wait)
	case r.Stop != nil:
		s.Clean = true
		return nil
	case r.Upgrade != nil:
		return s.upgrade(r.Upgrade, at)
	}
	return fmt.Errorf("a record of no known kind")
}

func (s *State) start(r *Start, at time.Time) error {
	if s.Start != nil {
		return fmt.Errorf("a second start")
	}
	if len(r.Steps) == 0 {
		return fmt.Errorf("a run without steps")
	}
	s.Start, s.Started, s.Phase = r, at, PhaseOpen
	s.Used.Units = map[string]int64{}
	for _, name := range r.Steps {
		s.Steps = append(s.Steps, &Step{Name: name, Phase: PhasePending})
	}
	return nil
}

func (s *State) begin(r *Begin, at time.Time) error {
	if r.Step != s.Current || r.Step >= len(s.Steps) || s.Steps[r.Step].Attempts+1 != r.Attempt {
		return fmt.Errorf("attempt %d of step %d begun out of order", r.Attempt, r.Step)
	}
	st := s.Steps[r.Step]
	if st.At.IsZero() {
		st.At = at
	}
	st.Attempts, st.Phase, st.Next = r.Attempt, PhaseOpen, time.Time{}
	s.Used.Attempts++
	s.worked = 0
	s.Phase, s.Park, s.Wait, s.Clean = PhaseOpen, nil, nil, false
	return nil
}

// open returns the step under way, if the record speaks of its open attempt.
func (s *State) open(step, attempt int) (*Step, error) {
	if step != s.Current || step >= len(s.Steps) || s.Steps[step].Attempts != attempt || attempt == 0 {
		return nil, fmt.Errorf("a record of attempt %d of step %d, which is not open", attempt, step)
	}
	s.Phase, s.Park, s.Wait, s.Clean = PhaseOpen, nil, nil, false
	s.Steps[step].Phase = PhaseOpen
	return s.Steps[step], nil
}

func (s *State) intent(r *Intent, at time.Time) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	c := &Call{
		Attempt: r.Attempt, Seq: s.Seq, Grant: r.Grant, Tool: r.Tool, Class: host.Class(r.Class), Type: r.Type,
		Request: r.Request, Occurrence: r.Occurrence, Generation: r.Generation, Charged: r.Charged,
		Tries: 1, First: at, Last: at, Receiver: r.Receiver, SeeUnknown: r.SeeUnknown,
		Business: r.Business,
	}
	if first := fromMicros(r.First); r.First != 0 && first.Before(at) {
		c.First = first
	}
	copy(c.Shown[:], r.Shown)
	if len(r.Key) != len(c.Key) || len(r.Hash) != len(c.Hash) {
		return fmt.Errorf("an intent with a key or hash of a wrong length")
	}
	copy(c.Key[:], r.Key)
	copy(c.Hash[:], r.Hash)
	if r.Call >= 0 && r.Call < len(st.Calls) {
		c.inherit(st.Calls[r.Call])
	}
	s.Used.Calls++
	return st.put(r.Call, c)
}

// put stores a call at its place: a new one at the end, or one made again, with
// which those behind it leave the line.
func (st *Step) put(index int, c *Call) error {
	switch {
	case index == len(st.Calls):
	case index >= 0 && index < len(st.Calls) && st.Calls[index].Again(c.Attempt):
		if err := st.leave(index+1, c.Attempt); err != nil {
			return err
		}
		st.Calls = st.Calls[:index]
	default:
		return fmt.Errorf("call %d recorded out of order", index)
	}
	if err := st.resend(c); err != nil {
		return err
	}
	st.Calls = append(st.Calls, c)
	return nil
}

// unsettled returns a call whose outcome is not known yet.
func (s *State) unsettled(step, attempt, call int) (*Call, error) {
	st, err := s.open(step, attempt)
	if err != nil {
		return nil, err
	}
	if call < 0 || call >= len(st.Calls) || st.Calls[call].Receipt != nil {
		return nil, fmt.Errorf("a record about call %d, which is not open", call)
	}
	return st.Calls[call], nil
}

func (s *State) retry(r *Retry, at time.Time) error {
	c, err := s.unsettled(r.Step, r.Attempt, r.Call)
	if err != nil {
		return err
	}
	if r.Try != c.Tries+1 {
		return fmt.Errorf("try %d of call %d out of order", r.Try, r.Call)
	}
	c.Tries, c.Last, c.Waited = r.Try, at, nil
	c.Receiver = r.Receiver
	s.Used.Calls++
	return nil
}

func (s *State) receipt(r *Receipt) error {
	c, err := s.unsettled(r.Step, r.Attempt, r.Call)
	if err != nil {
		return err
	}
	if host.Outcome(r.Outcome) == host.OutcomeUnknown && !c.SeeUnknown {
		return fmt.Errorf("call %d settled as unknown, and its step did not ask to see that", r.Call)
	}
	c.Receipt, c.Waited = r, nil
	for unit, n := range r.Units {
		if s.Used.Units[unit] += n; s.Used.Units[unit] < 0 {
			s.Used.Units[unit] = math.MaxInt64 // a sum that overflows has spent any budget
		}
	}
	return nil
}

func (s *State) refusal(r *Refusal, at time.Time) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	c := &Call{
		Attempt: r.Attempt, Seq: s.Seq, Grant: r.Grant, Tool: r.Tool, Refused: true, First: at, Last: at,
		Receipt: &Receipt{
			Step: r.Step, Attempt: r.Attempt, Call: r.Call, Outcome: uint8(host.OutcomeRejected),
			Status: r.Status, Code: r.Code, Message: r.Message, At: micros(at),
		},
	}
	copy(c.Hash[:], r.Hash)
	s.Used.Calls++
	return st.put(r.Call, c)
}

func (s *State) fail(r *Fail, at time.Time) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	st.Failure, st.Ended = r, at
	s.LastError, s.LastErrorAt, s.FailedCall = r, at, nil
	if r.Call >= 0 && r.Call < len(st.Calls) {
		failed := *st.Calls[r.Call]
		s.FailedCall = &failed
	}
	st.Phase = PhaseFailed
	if r.Next > 0 {
		st.Phase, st.Next = PhaseWaiting, fromMicros(r.Next)
	}
	if r.Retry == string(abi.Fresh) {
		st.forgetReads()
	}
	s.Phase = st.Phase
	return nil
}

// forgetReads marks the reads after the last write as to be made again.
func (st *Step) forgetReads() {
	var last uint64
	for _, c := range slices.Backward(st.Calls) {
		if c.Stands() {
			last = c.Seq
			break
		}
		c.Stale = c.Class == host.Read
	}
	for _, c := range st.Unclaimed {
		c.Stale = c.Stale || c.Class == host.Read && c.Seq > last
	}
}

func (s *State) done(r *Done, at time.Time) error {
	st, err := s.open(r.Step, r.Attempt)
	if err != nil {
		return err
	}
	for i, c := range st.Calls {
		if c.Receipt == nil {
			return fmt.Errorf("step %d ended while call %d is open", r.Step, i)
		}
	}
	if orphans := st.Orphans(); len(orphans) > 0 {
		return fmt.Errorf("step %d ended without %s of attempt %d", r.Step, orphans[0].Tool, orphans[0].Attempt)
	}
	st.Phase, st.Ended, st.Output, st.Failure = PhaseCompleted, at, &r.Output, nil
	s.Current++
	if s.Current == len(s.Steps) {
		s.Phase = PhaseCompleted
	}
	return nil
}

func (s *State) park(r *Park) error {
	if r.Step != s.Current || r.Step >= len(s.Steps) {
		return fmt.Errorf("a park of step %d, which is not the current one", r.Step)
	}
	s.Phase, s.Park, s.Wait, s.Clean = PhaseDecision, r, nil, true
	s.Steps[r.Step].Phase = PhaseDecision
	return nil
}

func (s *State) recovered(r *Recover) error {
	if _, err := s.open(r.Step, r.Attempt); err != nil {
		return err
	}
	if r.Free {
		return nil
	}
	s.Used.Recoveries++
	if s.outside() {
		return nil // it was not this run that ended the process
	}
	here := [3]int{r.Step, r.Attempt, r.Position}
	if s.recoveredAt != here {
		s.Used.InARow = 0
	}
	s.recoveredAt = here
	s.Used.InARow++
	return nil
}

// position is how far the open attempt has come: the calls of its step whose
// outcome is known.
func (s *State) position() int {
	n := 0
	for _, c := range s.Steps[s.Current].Calls {
		if c.Receipt != nil && !c.Again(s.Steps[s.Current].Attempts) {
			n++
		}
	}
	return n
}

func (s *State) recoveriesHere() int {
	if s.Ended() {
		return 0 // there is no position
	}
	if s.recoveredAt == [3]int{s.Current, s.Steps[s.Current].Attempts, s.position()} {
		return s.Used.InARow
	}
	return 0
}

// Ended reports whether nothing can happen to the run any more.
func (s *State) Ended() bool { return s.Phase == PhaseCompleted }
