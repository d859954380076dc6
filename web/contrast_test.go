package web_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Contrasts that WCAG 2.2 asks of text (1.4.3, AA), and of what has to be seen
// to understand or to use something (1.4.11).
const (
	contrastText = 4.5
	contrastEdge = 3.0
)

var (
	colour  = regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`)
	literal = regexp.MustCompile(`#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(`)
)

// Whatever stands on whatever can be read, in both themes.
//
// Seen red with a lighter --ink-dim, a darker --ground-warn in the dark theme,
// and a colour written beside the themes.
func TestContrast(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, rest, _ := strings.Cut(string(text), "@media (prefers-color-scheme: dark)")
	dark, rules, found := strings.Cut(rest, "* {")
	if !found {
		t.Fatal("the style sheet does not begin with its themes")
	}
	if got := literal.FindAllString(rules, -1); len(got) > 0 {
		t.Errorf("colours beside the themes: %v", got)
	}
	for name, theme := range map[string]map[string]string{"light": coloursOf(light), "dark": coloursOf(dark)} {
		if len(theme) != 16 {
			t.Errorf("%s has %d colours", name, len(theme))
		}
		for over, value := range theme {
			for under, ground := range theme {
				if least := leastContrast(over, under); contrast(t, value, ground) < least {
					t.Errorf("%s: --%s on --%s has %.2f, less than %.1f", name, over, under, contrast(t, value, ground), least)
				}
			}
		}
	}
}

// leastContrast is what a colour needs on another one; 0 if it never stands there.
func leastContrast(over, under string) float64 {
	ground := strings.HasPrefix(under, "ground")
	switch {
	case strings.HasPrefix(over, "ink") && ground, "on-"+under == over:
		return contrastText
	case ground && (over == "edge" || over == "focus" || over == "accent"):
		return contrastEdge
	}
	return 0
}

func coloursOf(theme string) map[string]string {
	out := map[string]string{}
	for _, m := range colour.FindAllStringSubmatch(theme, -1) {
		out[m[1]] = m[2]
	}
	return out
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(colour[1:], 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
