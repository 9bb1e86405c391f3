// Package testkit is what tests of several packages need. Only tests import it.
//
//   - Start, Main and AfterDeath (testproc.go): no program that a test starts outlives the test.
//   - Full and SkipUnlessFull: whether the long tests run, those of make test-full.
//   - Race and SkipInRace: whether the race detector is on.
//   - CPUTime: measures the work of a test where the load of the machine would disturb a clock.
//   - Terminal: both ends of a pseudo terminal. ClearOptions: an environment without options.
package testkit
