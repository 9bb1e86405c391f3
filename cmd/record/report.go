package main

import "github.com/gorosbag/gorosbag/recorder"

// reports translates --summary.
var reports = map[string]recorder.Report{
	"on-loss": recorder.ReportOnLoss,
	"always":  recorder.ReportAlways,
	"never":   recorder.ReportNever,
}
