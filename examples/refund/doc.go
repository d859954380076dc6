// Command refund is the steps of the refund workflow: a customer complains, the
// order is looked up, a model drafts a friendly sentence, the money goes back and
// a mail goes out. It is for people who want to see what steps look like; it is
// built as a guest with `pawl build` and does nothing when it is run natively.
package main
