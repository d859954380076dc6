// Package standin is receivers that do what they are told that a tool's
// contract says, and keep a ledger of it. It is for crash tests of workflows
// whose real receivers are not to be touched: it imports nothing of the engine
// and takes nobody's word for what happened. It is nothing to build a service on.
//
// A [Plan] says for each tool what its receiver promises and answers. A request
// comes to /do/TOOL followed by what the tool's own address has, a question
// about a key to /ask/TOOL with the key in the parameter [KeyParameter].
// Faults come by POST /_control, the ledger is told by GET /_ledger, as package
// fakes speaks it.
package standin
