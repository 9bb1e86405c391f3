package stock_test

// usageRows are command lines that end at once. Stock's binary ends by an uncaught
// exception where ours has a line for it; rosbag record returns 0 unless its own
// parser finds the fault.
func usageRows() []recordRow {
	bad := func(says string) want { return want{code: 1, says: says} }
	abort := func(says string) *want { return &want{code: killed, says: says} }
	wrapper := func(says string) *want { return &want{code: 2, says: says} }
	const (
		positive = "Split size must be " // stock: 0 or positive, though it refuses 0, too
		count    = "Specifying a count is not valid with automatic topic subscription."
		once     = "cannot be specified more than once"
	)
	rows := []recordRow{
		{name: "1 nothing", args: "", ours: bad("No topics specified.")},
		{name: "1 nothing, wrapper", args: "", wrapper: true, ours: bad("No topics specified."), stock: wrapper("You must specify a topic name or else use the '-a' option.")},
		{name: "1 regex without one", args: "-e", ours: bad("No topics specified.")},
		{name: "2 count of a node's topics", args: "--node /listener -l 3", ours: bad(count)},
		{name: "2 count of all topics", args: "-a -l 3", ours: bad(count)},
		{name: "2 negative count of all topics", args: "-a --limit=-1", ours: bad(count)},
		{name: "2 negative count: none given", args: "/chatter --limit=-1 --duration 0.3 -O x", ours: bad("Limit must be 0 or positive"), stock: &want{files: "x.bag", topics: anything}},
		{name: "3 two compressions", args: "-a -j --lz4", ours: bad("Can only use one type of compression")},
		{name: "3 two compressions, wrapper: the last", args: "-j --lz4 /chatter --duration 0.3 -O x", wrapper: true, ours: bad("Can only use one type of compression"), stock: &want{files: "x.bag", topics: anything}},
		{name: "4 no duration", args: "-a --duration x", ours: bad("Duration must start with a floating point number")},
		{name: "4 infinite duration", args: "-a --duration inf", ours: bad("longer than 292 years"), stock: &want{code: 1, says: "Duration must start with a floating point number"}},
		{name: "4 duration with another unit", args: "-a --duration 5x", ours: bad("Duration unit must be s, m, or h")},
		{name: "4 duration in large letters", args: "-a --duration 5M", ours: bad("Duration unit must be s, m, or h")},
		{name: "4 hexadecimal duration", args: "-a --duration 0x1", ours: bad("Duration unit must be s, m, or h")},
		{name: "4 no time", args: "-a --duration 0", ours: bad("Duration must be positive")},
		{name: "4 negative duration", args: "-a --duration=-3", ours: bad("Duration must be positive")},
		{name: "4 duration, wrapper", args: "-a --duration 5x", wrapper: true, ours: bad("Duration unit must be s, m, or h")},
		{name: "5 no size", args: "-a --size 0", ours: bad(positive)},
		{name: "5 negative split", args: "-a --split=-5", ours: bad(positive)},
		{name: "5 negative size", args: "/chatter --size=-1 --duration 0.3 -O x", ours: bad(positive), stock: &want{files: "x.bag", topics: anything}},
		{name: "5 no size, wrapper: as if not given", args: "/chatter --size=0 --duration 0.3 -O x", wrapper: true, ours: bad(positive), stock: &want{files: "x.bag", topics: anything}},
		{name: "size that is no integer", args: "-a --size 1.5", ours: bad("--size"), stock: abort("--size")},
		{name: "negative buffer", args: "-a -b -1", ours: bad("Buffer size must be 0 or positive")},
		{name: "negative buffer, wrapper", args: "-a -b -1", wrapper: true, ours: bad("Buffer size must be 0 or positive")},
		{name: "buffer that is no number", args: "-a --buffsize=x", ours: bad("--buffsize"), stock: abort("--buffsize")},
		{name: "buffer that is no number, wrapper", args: "-a --buffsize=x", wrapper: true, ours: bad("--buffsize"), stock: wrapper("invalid integer value: 'x'")},
		{name: "buffer in hexadecimal", args: "-a -b 0x10", ours: bad("--buffsize"), stock: abort("--buffsize")},
		{name: "negative chunks", args: "-a --chunksize -1", ours: bad("Chunk size must be 0 or positive")},
		{name: "missing argument", args: "-a --buffsize", ours: bad("the required argument for option '--buffsize' is missing")},
		{name: "unknown option", args: "-a --bogus", ours: bad("unrecognised option '--bogus'")},
		{name: "unknown option, wrapper", args: "-a --bogus", wrapper: true, ours: bad("unrecognised option '--bogus'"), stock: wrapper("no such option: --bogus")},
		{name: "unknown short option", args: "-aZ", ours: bad("unrecognised option '-Z' in '-aZ'"), stock: &want{code: 1, says: "unrecognised option '-aZ'"}},
		{name: "ambiguous option", args: "-a --output x", ours: bad("option '--output' is ambiguous"), stock: abort("option '--output' is ambiguous")},
		{name: "ambiguous option, wrapper", args: "-a --output x", wrapper: true, ours: bad("option '--output' is ambiguous"), stock: wrapper("ambiguous option: --output")},
		{name: "prefix and name, wrapper", args: "-a -o a -O b", wrapper: true, ours: bad("Can't set both prefix and name."), stock: wrapper("Can't set both prefix and name.")},
		{name: "prefix and name: the name", args: "/chatter -o a -O b --duration 0.3", ours: bad("Can't set both prefix and name."), stock: &want{files: "b.bag", topics: anything}},
		{name: "max-splits that is no number", args: "-a --max-splits x", ours: bad("--max-splits"), stock: abort("--max-splits")},
		{name: "node without a name", args: "--node", ours: bad("the required argument for option '--node' is missing")},
		{name: "option twice: the last", args: "/nothing -b 1 -b 2 -O x --duration 0.3", ours: want{files: "x.bag"}, stock: abort(once)},
		{name: "option twice, wrapper: the last", args: "/nothing -b 1 -b 2 -O x --duration 0.3", wrapper: true, ours: want{files: "x.bag"}},
		{name: "min-space in no unit", args: "/chatter -L 5X --duration 0.3 -O x", ours: bad("want a number of bytes"), stock: &want{files: "x.bag", topics: anything}},
		{name: "min-space, wrapper", args: "/nothing -L 1k --duration 0.3 -O x", wrapper: true, ours: want{files: "x.bag"}, stock: wrapper("no such option: -L")},
		{name: "28 more space than there is", args: "/nothing -L 100000G -O m1", ours: want{code: 3, says: fullAtOnce}, stock: &want{code: 1, files: "m1.bag", says: fullAtOnce}},
		{name: "help", args: "--help", ours: want{says: "--max-splits"}},
		{name: "help anywhere, wrapper", args: "/chatter -O x -h", wrapper: true, ours: want{says: "--max-splits"}},
		{name: "7 no such directory", args: "/nothing -O sub/none", ours: bad("cannot open sub/none.bag.active"), stock: &want{code: 1, says: "Error opening file: sub/none.bag.active"}},
		{name: "11 topic regex that is none", args: "-e (", ours: bad(`topic: "("`), stock: abort("regex")},
		{name: "exclude regex that is none", args: "-a -x (", ours: bad(`--exclude: "("`), stock: &want{code: 1, says: "Error reading options: "}},
		{name: "no topic's name", args: "9lives", ours: bad("9lives"), stock: abort("9lives")},
		{name: "no master's name", args: "-a __master:=foo", ours: bad(`__master:= "foo"`), stock: abort("Couldn't parse the master URI [foo]")},
	}
	for i := range rows {
		rows[i].ends = true
	}
	return rows
}

const fullAtOnce = "Less than 100000G of space free on disk with m1.bag.active. Disabling recording."
