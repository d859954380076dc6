package main

import (
	"fmt"
	"net/http"
)

var mailRoutes = []route{
	{pattern: "POST /mail/send", tool: "mail.send", do: (*world).send, key: messageID},
	{pattern: "GET /mail/sent", tool: "mail.send.verify", key: keyInQuery("message_id"), do: func(w *world, q *request) reply {
		return w.found("mail.send", q.key)
	}},
}

func messageID(q *request) string {
	var mail struct {
		ID string `json:"message_id"`
	}
	if !q.fits(&mail) {
		return ""
	}
	return mail.ID
}

// send sends whatever comes, as often as it comes: a message id is only for
// asking.
func (w *world) send(q *request) reply {
	var mail struct{ To, Subject, Text string }
	if !q.fits(&mail) || mail.To == "" || mail.Text == "" {
		return refused(http.StatusUnprocessableEntity, "no_recipient_or_text")
	}
	id := fmt.Sprintf("m_%d", len(w.ledger.effects("mail.send"))+1)
	return reply{status: http.StatusAccepted, body: map[string]string{"id": id, "state": "sent"}, effect: true}
}
