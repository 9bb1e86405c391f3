package main

import "testing"

// wrongValues are the texts of files with one wrong value each, with what the error says after the name of the file:
// the line, the key, the value and what is allowed.
var wrongValues = map[string]string{
	"bags: [x.bag]\nrte: 5":                               `2: rte: there is no such option; did you mean rate?`,
	"bags: [x.bag, ftp://host/y.bag]":                     `1: bags: "ftp://host/y.bag": want a file, or a URL with s3://, gs://, azblob://, file://, http:// or https://`,
	"bags: [x.bag]\nrate: fast":                           `2: rate: "fast": want a number`,
	"bags: [x.bag]\nrate: 0":                              `2: rate: "0": want a factor from 1e-06 to 1e+09, such as 0.5 or 2`,
	"bags: [x.bag]\nstart: yesterday":                     `2: start: "yesterday": not a time: write seconds or 1m30s from the beginning of the bag, -10s before its end, @1396293889.5 since 1970, 2014-03-31T19:11:29Z, or mark=TEXT`,
	"bags: [x.bag]\nstart: 1748682000":                    `2: start: "1748682000": a number counts seconds from the beginning of the bag: write @1748682000 for a time since 1970`,
	"bags: [x.bag]\nduration: 1748682000":                 `2: duration: "1748682000": this is a point in time, and this option says how long, as in rosbag play: for the end write --until @1748682000`,
	"bags: [10, x.bag]\nregex: true":                      `1: bags: "10": no such file; -e reads patterns as regular expressions, as in rosbag record: for the end write --until 10`,
	"bags: [x.bag]\nqueue: 1.5":                           `2: queue: "1.5": want a whole number`,
	"bags: [x.bag]\nloop: 7":                              `2: loop: "7": want true, false or shift`,
	"bags: [x.bag]\ndelay: 5 minutes":                     `2: delay: "5 minutes": want a number of seconds, or a time such as 1m30s`,
	"bags: [x.bag]\ntopics:\n  - /a\n  - /cam[1":          `4: topics: "/cam[1": the ] of "[1" is missing: want a name, or a glob with *, **, ? and [ab]`,
	"bags: [x.bag]\nregex: true\ndeny:\n  - /a\n  - (":    `5: deny: "(": missing closing ) at "(": want a regular expression (RE2 syntax)`,
	"bags: [x.bag]\nrename:\n  - /a=/b\n  - /c":           `4: rename: "/c": want FROM=TO, such as /a=/b`,
	"bags: [x.bag]\nregex: true\nrename: (=/b":            `3: rename: "(=/b": expression "(": missing closing ) at "(": want a regular expression (RE2 syntax)`,
	"bags: [x.bag]\nrate_control_topic: a-b":              `2: rate_control_topic: "a-b": '-' at 1 is not valid, a-z, A-Z, 0-9, / and _ are`,
	"bags: [x.bag]\nhttp: robot7:http":                    `2: http: "robot7:http": want HOST:PORT, such as 127.0.0.1:8765, or true or false`,
	"bags: [x.bag]\nhttp: :8765":                          `2: http: ":8765": it could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1`,
	"bags: [x.bag]\nros_master_uri: https://robot7:11311": `2: ros_master_uri: "https://robot7:11311": want http://HOST:PORT, not https://: write http://robot7:11311`,
}

func TestWrongValues(t *testing.T) {
	t.Parallel()
	described.CheckWrongValues(t, wrongValues)
}
