package house_test

// Libraries that the parts under way use; each line goes when its user is here.
import (
	_ "github.com/getkin/kin-openapi/openapi3filter"
	_ "github.com/go-chi/chi/v5"
)
