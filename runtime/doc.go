// Package runtime is Pawl's engine, for Go programs that run workflows: it
// deploys them, starts and resumes their runs, and says how each one stands.
// Authors of steps use package steps instead, authors of tools package host.
// Import it as
//
//	import pawl "github.com/pawl-dev/pawl/runtime"
//
// # Words
//
//   - A workflow is a named, versioned list of steps, identified by the digest of
//     its content. A run is one execution of it on one validated input.
//   - An attempt is one execution of a step; a try is one sending of a call; a
//     recovery is one re-entry of an attempt after a crash.
//   - A call is the only way out of a step. It reaches a tool, whose contract says
//     what may be done when nobody knows whether its effect happened.
//   - An intent is the record before an effect, a receipt the record of what came
//     of it. An outcome is applied, rejected, not_applied or unknown.
//   - A checkpoint is the record at a step's end or a park. A budget is what a run
//     may spend over all processes.
//
// # Guarantees
//
//   - A run that is killed anywhere goes on in a fresh process with the same
//     output. Completed steps do not run again.
//   - Every effect outside is recorded with its key, durably, before it is sent,
//     and sent under the same key ever after. An unknown outcome is resolved by
//     the tool's class, or it waits for a person; it is never taken for a failure.
//   - Attempts, calls, recoveries and named units stay spent, and the deadline
//     stays where it was, through any number of processes.
//   - What a step sees (time, random numbers, answers) is the same in every
//     execution of an attempt.
//   - A run goes on with the code and the contracts it began with, or it says which
//     of them differ.
//
// Three verbs are never mixed: cancelling a context stops waiting; [Engine.Close]
// leaves runs resumable; only a recorded act of a person changes a run.
package runtime
