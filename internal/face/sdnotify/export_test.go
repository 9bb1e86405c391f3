package sdnotify

// WatchWithin is Watch with a time for each report.
var WatchWithin = watchWithTimeout
