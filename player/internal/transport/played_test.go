package transport

import (
	"math"
	"testing"
	"time"
)

// What was played goes on between two messages, and leaves out what play passed over.
func TestPlayed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   func(*Transport)
		now  time.Duration
		want time.Duration
	}{
		"between two messages":        {func(p *Transport) { p.SetNext(500 * ms) }, 300 * ms, 300 * ms},
		"a message that waits":        {func(p *Transport) { p.SetNext(500 * ms) }, 900 * ms, 500 * ms},
		"the disk is awaited":         {func(*Transport) {}, 900 * ms, 100 * ms},
		"paused between two messages": {func(p *Transport) { p.SetNext(500 * ms); p.Pause(300 * ms) }, time.Hour, 300 * ms},
		"a step": {func(p *Transport) {
			p.SetNext(500 * ms)
			p.Pause(300 * ms)
			p.Burst(1)
			p.Publish(at(500*ms), 500*ms, 400*ms)
		}, time.Hour, 300 * ms},
		"a seek": {func(p *Transport) {
			p.SetNext(500 * ms)
			p.Seek(900*ms, 300*ms)
			p.Arrive(at(900*ms), 900*ms, false, 310*ms)
			p.SetNext(time.Second)
		}, 350 * ms, 340 * ms},
		"a gap that is left out":    {func(p *Transport) { p.skipEmpty = ms; p.Skip(700*ms, 100*ms); p.SetNext(time.Second) }, 150 * ms, 150 * ms},
		"the second pass":           {func(p *Transport) { p.SetNext(200 * ms); p.NextPass(0, 0, 200*ms); p.SetNext(100 * ms) }, 250 * ms, 250 * ms},
		"after the end, play stays": {func(p *Transport) { p.End() }, time.Hour, 100 * ms},
		"again, after it stayed": {func(p *Transport) {
			p.End()
			p.Seek(0, time.Hour)
			p.Arrive(at(0), 0, false, time.Hour)
			p.SetNext(50 * ms)
		}, 2 * time.Hour, 150 * ms},
		"ended between two messages":     {func(p *Transport) { p.SetNext(500 * ms); p.Finish(300 * ms) }, time.Hour, 300 * ms},
		"ended after the end":            {func(p *Transport) { p.End(); p.Finish(300 * ms) }, time.Hour, 100 * ms},
		"more than a Duration can hold":  {func(p *Transport) { long(p, 3) }, 0, math.MaxInt64},
		"as much as a Duration can hold": {func(p *Transport) { long(p, 2) }, 0, 2 * maxBag},
		"forever":                        {func(p *Transport) { long(p, 100) }, 0, math.MaxInt64},
		"at another rate":                {func(p *Transport) { p.SetNext(900 * ms); p.SetRate(2, 200*ms) }, 300 * ms, 400 * ms},
		"play that waits for a clock":    {func(p *Transport) { p.SetNext(500 * ms); p.Rebase(100 * ms) }, 300 * ms, 300 * ms},
		"a message that had no room":     {func(p *Transport) { p.SetNext(500 * ms); p.RebaseTo(500*ms, 900*ms) }, 900 * ms, 500 * ms},
		"paused, and resumed":            {func(p *Transport) { p.SetNext(900 * ms); p.Pause(300 * ms); p.Resume(time.Hour) }, time.Hour + 200*ms, 500 * ms},
		"a step, and a seek while paused": {func(p *Transport) {
			p.SetNext(500 * ms)
			p.Pause(300 * ms)
			p.Seek(0, time.Hour)
			p.Arrive(at(0), 0, true, time.Hour)
			p.SetNext(0)
			p.Publish(at(0), 0, time.Hour)
		}, time.Hour, 300 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := playing(Options{}, 0, 100*ms)
			tc.do(p)
			if got := p.head.Played(tc.now); got != tc.want {
				t.Errorf("played %v, want %v", got, tc.want)
			}
		})
	}
}

// maxBag is the longest time between two stamps of a bag, 136 years.
const maxBag = (1<<32 - 1) * time.Second

// long plays passes of maxBag, at once.
func long(p *Transport, passes int) {
	for range passes {
		p.head.schedule.Begin(maxBag, 0)
		p.SetNext(maxBag)
		p.NextPass(0, 0, 0)
	}
}

// A sum stops at the ends of what a Duration can hold.
func TestSum(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ a, b, want time.Duration }{
		{1, 2, 3},
		{0, 0, 0},
		{-1, 1, 0},
		{Forever, 0, Forever},
		{0, Forever, Forever},
		{math.MinInt64, 0, math.MinInt64},
		{-1, -2, -3},
		{Forever, -1, Forever - 1},
		{Forever, 1, Forever},
		{2 * maxBag, maxBag, Forever},
		{math.MinInt64, -1, math.MinInt64},
		{math.MinInt64, math.MinInt64, math.MinInt64},
		{math.MinInt64, Forever, -1},
		{math.MinInt64 + 1, -1, math.MinInt64},
	} {
		if got := Sum(tc.a, tc.b); got != tc.want {
			t.Errorf("%d and %d: %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
