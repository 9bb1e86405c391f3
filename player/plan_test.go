package player

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/player/internal/plan"
	"github.com/gorosbag/gorosbag/player/internal/testplay"
)

func makePlan(t *testing.T, o Options, bags ...[]byte) (*plan.Plan, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zap.WarnLevel)
	o.Bags, o.Log = testplay.OpenBags(t, bags...), zap.New(core)
	p, err := testPlan(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	return p, logs
}
