// Package crashtest kills the runs of a workflow at every boundary and judges
// what became of them. It is for people who wrote a workflow or a tool and want
// to see the promises kept, in Go tests and on the command line; programs that
// run workflows have no use for it.
//
// [Run] first lets one run end in peace. From what that run did it makes the
// matrix: for every call the points [H0] to [H5], for every step [H6], and the
// points before and after the last write of each step, named E1, E2, and so on;
// for further tries and attempts, waits and parks, points of their own.
// For each of them a run is begun in a process of its own, which is killed there
// with SIGKILL; a fresh process reads the checkpoint document, and another one
// resumes. Then the receivers' own ledgers are compared with those of the clean
// run: equal output alone would prove nothing. Receivers that are [Faulty] can
// also be told to go wrong, in rows without a kill.
//
// Go tests call [Matrix], and their TestMain is [Main].
//
// The processes are the caller's program again: it calls [Child] when it is
// started as one.
package crashtest
