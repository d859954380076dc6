package main

import "net/http"

var ticketRoutes = []route{
	{pattern: "PUT /tickets/{ticket}/claim", tool: "tickets.claim", do: (*world).claim},
	{pattern: "PUT /tickets/{ticket}/note", tool: "tickets.note", do: (*world).noteTicket},
}

func (w *world) claim(q *request) reply {
	var claim struct{ By string }
	if !q.fits(&claim) || claim.By == "" {
		return refused(http.StatusUnprocessableEntity, "no_claimant")
	}
	if last, ok := w.latest(q); ok && string(last.Body) != string(q.body) {
		return refused(http.StatusUnprocessableEntity, "claimed_by_another")
	}
	return w.put(q, map[string]string{"ticket": q.PathValue("ticket"), "claimed_by": claim.By})
}

func (w *world) noteTicket(q *request) reply {
	var note struct{ Text string }
	if !q.fits(&note) || note.Text == "" {
		return refused(http.StatusUnprocessableEntity, "no_text")
	}
	return w.put(q, map[string]string{"ticket": q.PathValue("ticket"), "state": "noted"})
}
