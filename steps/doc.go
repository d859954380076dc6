// Package steps is for people who write steps of a workflow in Go: it turns
// ordinary functions into the exports of a WebAssembly module and gives them
// their only way out, calls to tools. Programs that start, resume or embed runs
// should not use it: they use package runtime.
//
// A module of steps is one program of package main:
//
//	var getOrder = steps.NewTool[OrderRequest, Order]("orders.get")
//
//	func init() { steps.Handle("lookup", lookup) }
//
//	func main() {}
//
//	func lookup(s *steps.Step, in Ticket) (Order, error) {
//		return getOrder.Call(s, OrderRequest{Order: in.Order})
//	}
//
// The same files vet, build and run natively: [Test] runs a step as an ordinary
// Go function, with breakpoints. The module is built with `pawl build`, or with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -buildvcs=false -o refund.wasm .
//
// # A step may run more than once
//
// After a crash a step is entered again from its beginning, in a fresh instance,
// and each call that was already answered gets its recorded answer at once.
// So a step must do the same thing when it sees the same answers, and it does
// without further care, since everything else that it can see is the same too:
// the clock and the random numbers are the sandbox's and repeat exactly. Package
// variables do not survive from one entry, step or run to the next; what the
// next step needs is put into the output.
//
// Two equal calls in one step are two effects. A retry, a crash or a
// lost answer never makes a second effect of one call. [Key] is for an effect
// that must happen once over all runs.
//
// # What does not work in a guest, and what to do instead
//
//   - Files, directories, embedding by path at run time: there are none.
//     Use //go:embed for what belongs to the module, a tool for the rest.
//   - The network (net, net/http as a client): there is none. Declare a
//     tool in tools.toml and call it. If a library insists on an http.Client,
//     package httpcall gives it one that calls tools.
//   - The environment, arguments, flags: there are none. Configuration
//     is input; what differs between installations belongs to the tools.
//   - Secrets: a step never sees one, they are put in when a tool sends.
//     Do not pass them through an input either: inputs are stored.
//   - The wall clock: time.Now is the recorded time of the step, and jumps only
//     to the times of completed calls. Measuring how long something takes, and
//     deadlines over calls (context.WithTimeout), say nothing. A tool's time
//     limits stand in tools.toml.
//   - Waiting: time.Sleep returns at once. Return [NotYet] to wait durably.
//   - Random numbers: math/rand and crypto/rand work, and repeat when the step is
//     entered again. Do not make secrets or passwords of them.
//   - Goroutines: they take turns on one thread. Calls are answered one after
//     the other; parallel work is for several steps.
//   - Calls before a step runs (in init or in a package variable): not possible,
//     since a call needs the [Step]. Init may compute, but do little there: it is
//     paid at every entry.
//   - Integers above 2^53 in a float64: JSON numbers read into an any are kept as
//     json.Number, and integers of Go types are exact. A field of type float64
//     rounds. Money is integers in minor units.
//   - os.Exit, log.Fatal: the step ends as broken ("exit"), its output
//     lost. Return an error. A panic is returned as a failure with the code "panic".
//   - Memory without end: the step's limit stands in workflow.toml; past it the Go
//     runtime dies with "out of memory", which cannot be recovered.
//   - Reading standard input: it is empty. What is written to
//     standard output or error becomes log lines; better use [Step.Logger].
package steps
