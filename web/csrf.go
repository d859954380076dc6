package web

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	pawl "github.com/pawl-dev/pawl/runtime"
)

// csrfField is the field of a form that holds its token.
const csrfField = "csrf"

// maxForm is how many bytes a form can have.
const maxForm = 1 << 20

// bodyTime is how long a request may take to be sent.
const bodyTime = 30 * time.Second

// Errors of requests that a page of another site may have made.
var (
	errForeign = errors.New("this request was made by a page of another site")
	errOldForm = errors.New("this page is too old, or the browser keeps no cookies: nothing was done")
)

// csrf is the token for the forms of a page. It belongs to the browser's cookie
// and to the principal, and to nothing of this process: a page that was open
// while the server was started anew can still act.
func (s *server) csrf(c echo.Context) string {
	secret, ok := csrfSecret(c.Request())
	if !ok {
		secret = rand.Text()
		c.SetCookie(csrfCookie(c.Request(), secret))
		c.Request().AddCookie(csrfCookie(c.Request(), secret)) // for the page's next form
	}
	return csrfToken(secret, principal(c))
}

func csrfToken(secret string, who pawl.Principal) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("form of " + who.Name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// csrfName is the cookie's. Over TLS the prefix keeps other hosts from setting it.
func csrfName(r *http.Request) string {
	if r.TLS != nil {
		return "__Host-pawl-csrf"
	}
	return "pawl-csrf"
}

// csrfCookie has the path of the whole host, since the handler does not know
// where it is mounted; see RATIONALE.md.
func csrfCookie(r *http.Request, secret string) *http.Cookie {
	return &http.Cookie{
		Name: csrfName(r), Value: secret, Path: "/",
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
}

func csrfSecret(r *http.Request) (string, bool) {
	all := csrfSecrets(r)
	if len(all) == 0 {
		return "", false
	}
	return all[0], true
}

// csrfSecrets are those of all cookies of the name. There may be several: what
// listens at another port of this host, or stands beside this handler, can set
// cookies for it. A form that belongs to any of them is good, as what keeps other
// pages out is where a request says that it comes from; of one alone, a cookie
// that somebody else has set would make every form useless.
func csrfSecrets(r *http.Request) (all []string) {
	for _, cookie := range r.CookiesNamed(csrfName(r)) {
		if len(cookie.Value) == len(rand.Text()) {
			all = append(all, cookie.Value)
		}
	}
	return all
}

// sameOrigin refuses what a browser says that another site's page sent.
func sameOrigin(r *http.Request) error {
	if err := new(http.CrossOriginProtection).Check(r); err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	return nil
}

// readForm reads the form of a page and checks its token.
func (s *server) readForm(c echo.Context) error {
	r := c.Request()
	if err := sameOrigin(r); err != nil {
		return err
	}
	if _, err := readBody(c, "application/x-www-form-urlencoded", maxForm); err != nil {
		return err
	}
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", errRequest, err)
	}
	for _, secret := range csrfSecrets(r) {
		if hmac.Equal([]byte(csrfToken(secret, principal(c))), []byte(r.PostForm.Get(csrfField))) {
			return nil
		}
	}
	return errOldForm
}

// readBody reads the body, which has to be of the media type, and leaves it
// there to be read again.
func readBody(c echo.Context, media string, limit int64) ([]byte, error) {
	r := c.Request()
	if got, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType)); err != nil || got != media {
		return nil, fmt.Errorf("%w: Content-Type has to be %s", errMediaType, media)
	}
	control := http.NewResponseController(c.Response())
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, limit))
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, fmt.Errorf("%w: at most %d bytes", errBody, large.Limit)
		}
		return nil, fmt.Errorf("%w: the body did not arrive: %w", errRequest, err)
	}
	_ = control.SetReadDeadline(time.Time{}) // it would end the request's context later
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
