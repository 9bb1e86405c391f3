package intake

import "testing"

// TestQueueCrowded: much waits for the disk when it is more than an eighth of the buffer or,
// without a limit, more than 32 MiB. What the links are given once they are to be closed
// does not change that.
func TestQueueCrowded(t *testing.T) {
	t.Parallel()
	for budget, most := range map[int64]int64{8000: 1000, -1: 32 << 20} {
		in := bareIntake(budget, 100)
		for waiting, want := range map[int64]bool{0: false, most: false, most + 1: true} {
			in.Pool.Waiting = waiting
			if got := in.Accounts().QueueCrowded(); got != want {
				t.Errorf("%d bytes wait in a buffer of %d: crowded %v, want %v", waiting, budget, got, want)
			}
		}
	}
	closing := bareIntake(8000, 100)
	closing.Links().UnblockLinks()
	closing.Pool.Waiting = 1001
	if !closing.Accounts().QueueCrowded() {
		t.Error("not crowded while the links are closed")
	}
}
