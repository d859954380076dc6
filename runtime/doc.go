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
// # Use
//
//	tools, err := host.NewRegistry(charge) // host.Func makes a tool of a Go function
//	store, err := kv.Open("data", nil)     // a directory on a local disk; one process at a time
//	defer store.Close()
//	engine, err := pawl.Open(ctx, store, &pawl.Options{Tools: tools})
//	defer engine.Close()
//	workflow, err := engine.Deploy(ctx, os.DirFS("refund"))   // workflow.toml and built modules
//	run, err := pawl.Start(ctx, workflow, "refund-T1", ticket, nil)
//	result, err := pawl.Await[Result](ctx, run)
//
// Deploy does not build: the command pawl build does, or package steps/build.
// After a crash, Open goes on with every run by itself. A run that waits for a
// person ([ErrNeedsDecision]) can be resumed, which asks its receivers again;
// acts by which a person decides an outcome do not exist yet.
//
// # The file workflow.toml
//
// Everything that is not required says its default.
//
//	pawl = 1                          # format of the file; required
//
//	[workflow]
//	name       = "refund"             # [a-z][a-z0-9_]{0,63}; required
//	version    = "1.0.0"              # the author's word for it; required
//	title      = "Refund {input.order}"        # default: the name
//	labels     = { order = "{input.order}" }   # default: none
//	input      = "schema/ticket.json" # JSON Schema 2020-12, a file or an inline table; required
//	deadline   = "72h"                # from the start, downtime included; default: none
//	on_failure = "hold"               # the default, and the only one yet
//
//	[budget]                          # of the whole run, over all processes
//	attempts    = 12                  # of all steps together; default: no limit
//	calls       = 60                  # sendings and refused calls; default: no limit
//	recoveries  = 5                   # in a row at one position; the default
//	work        = 50_000_000          # what the steps compute; default: no limit
//	active_time = "10m"               # downtime and waiting do not count; default: no limit
//	units       = { tokens = 20_000 } # what tools charge, by name; default: no limit
//
//	[[step]]                          # in order; at least one
//	name   = "draft"                  # as the module names it; required
//	module = "refund.wasm"            # a file in the folder; required
//	tools  = ["llm.complete"]         # what the step may call; default: nothing
//	with   = { ticket = "input", order = "steps.lookup" }  # CEL; default: the output of the
//	                                  # step before, or the run's input for the first
//	output = "schema/draft.json"      # JSON Schema of the output; default: any JSON
//	retry  = { attempts = 4, backoff = "1s", max_backoff = "1m" }  # default: 1 attempt
//	limits = { memory = "64MiB", work = 5_000_000, calls = 20 }  # default: 128MiB, no limit
//	                                  # of work (function entries and rounds of loops) and calls
//
//	[step.tool."llm.complete"]
//	use = "openai"                    # the operator's tool; default: the same name
//
//	[module."refund.wasm"]
//	go = "./steps"                    # the package it is built from; default: "."
//
// Three verbs are never mixed: cancelling a context stops waiting; [Engine.Close]
// leaves runs resumable; only a recorded act of a person changes a run.
package runtime
