package web_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
)

// TestCommandAnswers: a command is answered with its text, then its fields, whether there was
// something to do or not.
func TestCommandAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		program := newProgram()
		c, _ := serveInBubble(t, program)
		for name, want := range map[string]webtest.Answer{
			"pause": {Status: http.StatusOK, Body: `{"message":"pause it","paused":true}`},
			"step":  {Status: http.StatusOK, Body: `{"message":"there is nothing to step to","paused":true}`},
			"wait":  {Status: http.StatusAccepted, Body: `{"message":"it is being done, after what waits for the disk"}`},
		} {
			if name == "step" {
				c.Post("/api/v1/pause", "")
			}
			if a := c.Post("/api/v1/"+name, ""); a.Status != want.Status || a.Body != want.Body+"\n" {
				t.Errorf("%s: %d %s, want %d %s", name, a.Status, a.Body, want.Status, want.Body)
			}
		}
		if a := c.Post("/api/v1/elsewhere", ""); a.Status != http.StatusNotFound {
			t.Errorf("a command that is not served over HTTP: %d", a.Status)
		}
	})
}
