package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/recorder/control"
)

// snapshotOnSignal makes SIGUSR1 take a snapshot until stop is called. It is caught
// without snapshots, too: by default it would end the process and leave a torn bag.
func snapshotOnSignal(recording control.Recording, log *zap.Logger) (stop func()) {
	if snapshotSignal == nil {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, snapshotSignal)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	// owner: stop; ends when ctx is done.
	wg.Go(func() {
		for {
			select {
			case <-signals:
				// The recorder logs the end of a snapshot.
				wg.Go(func() {
					if _, err := recording.Snapshot(ctx); err != nil && !errors.Is(err, context.Canceled) {
						log.Error("no snapshot", zap.Stringer("trigger", snapshotSignal), zap.Error(err))
					}
				})
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		signal.Stop(signals)
		cancel()
		wg.Wait()
	}
}
