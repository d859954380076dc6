package web

import "net/http"

// statusOf is the HTTP status of an error by its code (pawl.CodeOf).
func statusOf(code string) int {
	switch code {
	case "not_found":
		return http.StatusNotFound
	case "invalid_input", "too_large":
		return http.StatusUnprocessableEntity
	case "denied":
		return http.StatusForbidden
	case "store_locked", "store_broken", "no_space", "store_unavailable", "closed":
		return http.StatusServiceUnavailable
	case "corrupt", "undecodable", "":
		return http.StatusInternalServerError
	}
	return http.StatusConflict // how the run, or the store, stands forbids it
}
