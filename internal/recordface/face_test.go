package recordface_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/recordface"
	"github.com/gorosbag/gorosbag/internal/web/webtest"
	"github.com/gorosbag/gorosbag/recorder"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPagesAreComplete: what the page loads is there, and nothing comes from elsewhere.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()
	webtest.CheckFiles(t, webtest.Serve(t, recordface.New(new(recorder.Control), time.Minute)), "assets")
}
