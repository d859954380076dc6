// Package toolfile reads tools.toml, in which an operator describes the tools
// that workflows may call and the secrets that those need. It is for programs
// that run workflows and are configured by a file; who builds the tools in Go
// gives them to host.NewRegistry and does not need it. It knows no kind of tool
// by itself: each [Kind] is given to [Load].
//
// # The file
//
// The keys that every tool has; package httptool documents those of the kind
// "http". Everything that is not required says its default.
//
//	pawl = 1                                  # format of the file; required
//
//	[secret]                                  # by name; read whenever it is needed, never stored
//	pay_token = { env = "PAY_TOKEN" }         # or file = "/run/secrets/pay_token"
//	                                          # or command = ["pass", "show", "pay"]: run without a shell
//	                                          # in the file's folder, at most 10 s, its output counts
//	                                          # for a minute
//	bank      = { file = "bank", account = "acme-eu" }   # account: whose books it opens; default: unknown
//
//	[tool."payments-eu"]
//	kind    = "http"                          # required
//	effect  = "keyed"                         # read | keyed | verify | once; default: once, which is
//	                                          # never sent again unless it is known not to have happened
//	timeout = "20s"                           # of one sending or question; default: 30s
//	retry   = { tries = 5, backoff = "500ms", max_backoff = "30s" }   # default: 1 try
//	units   = { eur_cent = "/amount" }        # JSON Pointers into the answer; default: none
//	help    = "Search for the key {key}."     # for the person who must find out; default: none
//
//	[tool."payments-eu".compensate]           # read and shown; nothing runs it yet
//	tool    = "payments-eu.cancel"
//	request = { refund = "receipt.id" }
package toolfile
