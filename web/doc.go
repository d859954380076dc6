// Package web is the panel and the JSON API of an engine, as one http.Handler
// that any Go program mounts under any prefix. It is for whoever lets people look
// at runs and act on them through a browser or a program; who only runs workflows
// needs package runtime alone.
//
// The panel works without JavaScript. It asks nothing of any other origin, and
// needs no build step. The API is below api/v1/, described by its openapi.yaml,
// which is served there too. Whatever a guest or a receiver wrote is shown as text.
package web
