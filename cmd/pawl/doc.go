// Command pawl runs workflows of WebAssembly steps from a terminal and shows
// how their runs stand. It is for operators and authors of workflows; a Go
// program that runs workflows itself embeds package runtime and does not need
// it.
//
// It holds flags, environment, signals, exit statuses and wiring, and nothing
// that an embedding program would have to copy.
//
// # Streams
//
// What a command was asked for goes to standard output: a run's output, a page,
// a table. Progress and notices go to standard error. With --json standard
// output has only JSON, one value a line with the result in the last, and
// standard error has only lines {"error":{...}} and {"notice":{...}}, and the log
// of serve.
//
// # Servers
//
// serve has the data directory for as long as it lives, and run, resume, runs
// and show work through it meanwhile, by a socket that only the directory's
// owner can open. A run that was started through it goes on there when the
// command ends. The tools are those of the server.
//
// # Exit status
//
//	0    completed
//	1    failed, cancelled, or a check not passed
//	2    the command line or a file is wrong
//	3    waits for a person or a timer; the run is safe
//	4    refused: incompatible, conflict, denied
//	5    the store is locked or unavailable
//	130  interrupted; the run is resumable
//
// serve ends with 0 after SIGTERM or an interrupt, when it has stopped in good
// order.
package main
