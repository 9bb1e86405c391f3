package migration_test

import (
	"strings"

	"github.com/gorosbag/gorosbag/internal/ros/migration"
)

// row is a change of a definition, with a message before and afterward.
type row struct {
	Name     string
	Old, New string // definitions
	OldType  string // "p/T" if it is empty
	NewType  string
	Has      string // Python that fills m, a message of the old definition
	Wants    string // Python that fills m, the same message of the new definition
	Options  []string
	Loss     migration.Loss
	Changes  string // as Change.String says them, separated by "; "
}

const header = "================================================================================\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"

func sub(name, text string) string {
	return strings.Repeat("=", 80) + "\nMSG: " + name + "\n" + text + "\n"
}

// rows has each kind of change that messages survive.
var rows = []row{
	{
		Name: "order of fields", Old: "int32 a\nstring b\nfloat64[] c\n", New: "float64[] c\nint32 a\nstring b\n",
		Has: "m.a=7; m.b='x'; m.c=[1.5,2.5]", Wants: "m.a=7; m.b='x'; m.c=[1.5,2.5]", Changes: "p/T has another order of fields",
	},
	{
		Name: "order of fields of fixed size in elements", Old: "E[] e\nuint8 last\n" + sub("p/E", "int32 a\nint16 b"), New: "E[] e\nuint8 last\n" + sub("p/E", "int16 b\nint32 a"),
		Has: "m.e=[E(1,2),E(3,4)]; m.last=9", Wants: "m.e=[E(2,1),E(4,3)]; m.last=9", Changes: "p/E has another order of fields",
	},
	{
		Name: "comments and constants", Old: "# old\nint32 A=1\nint32 B=2\nint32 a\n", New: "int32 A=1\nint32 B=3 # new\nint32 C=4\nint32 a\n",
		Has: "m.a=-5", Wants: "m.a=-5",
		Changes: "constant p/T.B is 3, and was 2: look whether the same number means the same; constant p/T.C=4 is added",
	},
	{Name: "constant removed", Old: "int32 A=1\nint32 a\n", New: "int32 a\n", Has: "m.a=1", Wants: "m.a=1", Changes: "constant p/T.A=1 is removed"},
	{Name: "new field", Old: "int32 a\n", New: "int32 a\nstring s\nfloat64 f\n", Has: "m.a=1", Wants: "m.a=1", Changes: "p/T.s (string) is added; p/T.f (float64) is added"},
	{
		Name: "new fields with values", Old: "int32 a\n", New: "string s\nint32 a\nfloat32 f\nbool b\ntime t\nduration d\nint16[] n\nuint8[2] u\n", Has: "m.a=1",
		Options: []string{"--set p/T.s=a b", "--set p/T.f=-2.5", "--set p/T.b=true", "--set p/T.t=12.5", "--set p/T.d=-1.25", "--set p/T.n=[1, -2]", "--set p/T.u=[3,4]"},
		Wants:   "m.a=1; m.s='a b'; m.f=-2.5; m.b=True; m.t=Time(12,500000000); m.d=Duration(-1.25); m.n=[1,-2]; m.u=[3,4]",
		Changes: "p/T.s (string) is added; p/T.f (float32) is added; p/T.b (bool) is added; p/T.t (time) is added; p/T.d (duration) is added; p/T.n (int16[]) is added; p/T.u (uint8[2]) is added",
	},
	{
		Name: "new fields of every kind are zero", Old: "int32 a\n", New: "string[3] s\nint32 a\nE e\nE[2] ee\nE[] v\ntime t\nfloat64[36] c\n" + sub("p/E", "string n\nfloat64 x"), Has: "m.a=1", Wants: "m.a=1",
		Changes: "p/T.s (string[3]) is added; p/T.e (p/E) is added; p/T.ee (p/E[2]) is added; p/T.v (p/E[]) is added; p/T.t (time) is added; p/T.c (float64[36]) is added",
	},
	{
		Name: "field removed", Old: "int32 a\nstring b\nint32 c\nint32[] d\n", New: "int32 a\nint32 c\n", Has: "m.a=1; m.b='gone'; m.c=3; m.d=[4]", Wants: "m.a=1; m.c=3",
		Options: []string{"--drop p/T.b", "--drop p/T.d"}, Loss: migration.Lost, Changes: "p/T.b (string) is dropped; p/T.d (int32[]) is dropped",
	},
	{
		Name: "field renamed", Old: "int32 a\nfloat32 old\n", New: "float32 new\nint32 a\n", Has: "m.a=1; m.old=2", Wants: "m.a=1; m.new=2",
		Options: []string{"--field p/T.old=new"}, Changes: "p/T.old is renamed to new; p/T has another order of fields",
	},
	{
		Name: "type moved", OldType: "old_msgs/P", NewType: "new_msgs/P", Old: "float32 x\nfloat32 y\n", New: "float32 x\nfloat32 y\n", Has: "m.x=1; m.y=2", Wants: "m.x=1; m.y=2",
		Options: []string{"--rename old_msgs/P=new_msgs/P"}, Changes: "old_msgs/P becomes new_msgs/P",
	},
	{
		Name: "type of a field moved", Old: "q/Old p\n" + sub("q/Old", "float32 x"), New: "q/New p\n" + sub("q/New", "float32 x\nint8 y"), Has: "m.p.x=1", Wants: "m.p.x=1",
		Options: []string{"--rename q/Old=q/New"}, Changes: "q/Old becomes q/New; q/New.y (int8) is added",
	},
	{
		Name: "wider numbers", Old: "int8 a\nint16 b\nint32 c\nuint8 d\nuint16 e\nuint32 f\nuint8 g\nuint32 h\nfloat32 i\nbyte j\nchar k\n", New: "int16 a\nint32 b\nint64 c\nuint16 d\nuint32 e\nuint64 f\nint16 g\nint64 h\nfloat64 i\nint32 j\nuint64 k\n",
		Has:     "m.a=-128; m.b=-32768; m.c=-2147483648; m.d=255; m.e=65535; m.f=4294967295; m.g=200; m.h=4294967295; m.i=0.1; m.j=-3; m.k=250",
		Wants:   "m.a=-128; m.b=-32768; m.c=-2147483648; m.d=255; m.e=65535; m.f=4294967295; m.g=200; m.h=4294967295; m.i=0.10000000149011612; m.j=-3; m.k=250",
		Changes: "p/T.a: int8 becomes int16; p/T.b: int16 becomes int32; p/T.c: int32 becomes int64; p/T.d: uint8 becomes uint16; p/T.e: uint16 becomes uint32; p/T.f: uint32 becomes uint64; p/T.g: uint8 becomes int16; p/T.h: uint32 becomes int64; p/T.i: float32 becomes float64; p/T.j: byte becomes int32; p/T.k: char becomes uint64",
	},
	{
		Name: "numbers of the same bytes", Old: "bool a\nuint8 b\nbyte c\nchar d\nint8 e\n", New: "uint8 a\nbool b\nint8 c\nuint8 d\nbyte e\n", Has: "m.a=True; m.b=1; m.c=-1; m.d=255; m.e=-2",
		Wants:   "m.a=1; m.b=True; m.c=-1; m.d=255; m.e=-2",
		Changes: "p/T.a: bool becomes uint8; p/T.b: uint8 becomes bool; p/T.c: byte becomes int8; p/T.d: char becomes uint8; p/T.e: int8 becomes byte",
	},
	{
		Name: "wider numbers in arrays", Old: "uint8[] a\nint16[3] b\nfloat32[] c\n", New: "uint16[] a\nint32[] b\nfloat64[] c\n", Has: "m.a=[1,255]; m.b=[-1,0,1]; m.c=[0.5]", Wants: "m.a=[1,255]; m.b=[-1,0,1]; m.c=[0.5]",
		Changes: "p/T.a: uint8[] becomes uint16[]; p/T.b: int16[3] becomes int32[]; p/T.c: float32[] becomes float64[]",
	},
	{
		Name: "narrower numbers that fit", Old: "int64 a\nint32 b\nuint32 c\nfloat64 d\nint32 e\nfloat32[] f\nint16 g\n", New: "int32 a\nuint8 b\nint16 c\nint8 d\nfloat32 e\nint64[] f\nbool g\n", Has: "m.a=-2147483648; m.b=255; m.c=32767; m.d=-128.0; m.e=16777216; m.f=[3,-4]; m.g=1",
		Wants: "m.a=-2147483648; m.b=255; m.c=32767; m.d=-128; m.e=16777216.0; m.f=[3,-4]; m.g=True", Options: []string{"--convert all"}, Loss: migration.Rounded,
		Changes: "p/T.a: int64 becomes int32; p/T.b: int32 becomes uint8; p/T.c: uint32 becomes int16; p/T.d: float64 becomes int8; p/T.e: int32 becomes float32; p/T.f: float32[] becomes int64[]; p/T.g: int16 becomes bool",
	},
	{
		Name: "float64 to float32", Old: "float64 a\nfloat64[2] b\n", New: "float32 a\nfloat32[2] b\n", Has: "m.a=0.1; m.b=[0.5, float('inf')]", Wants: "m.a=0.1; m.b=[0.5, float('inf')]",
		Options: []string{"--convert p/T.a", "--convert p/T.b"}, Loss: migration.Rounded, Changes: "p/T.a: float64 becomes float32; p/T.b: float64[2] becomes float32[2]",
	},
	{Name: "fixed array to variable", Old: "uint8[3] a\nfloat64[2] b\n", New: "uint8[] a\nfloat64[] b\n", Has: "m.a=[1,2,3]; m.b=[4,5]", Wants: "m.a=[1,2,3]; m.b=[4,5]", Changes: "p/T.a: uint8[3] becomes uint8[]; p/T.b: float64[2] becomes float64[]"},
	{
		Name: "variable array to fixed", Old: "uint8[] a\nfloat32[] b\nE[] c\n" + sub("p/E", "string s"), New: "uint8[3] a\nfloat64[2] b\nE[1] c\n" + sub("p/E", "string s\nint8 n"), Has: "m.a=[1,2,3]; m.b=[4,5]; m.c=[E('x')]", Wants: "m.a=[1,2,3]; m.b=[4,5]; m.c=[E('x',0)]",
		Loss: migration.Perhaps, Changes: "p/T.a: uint8[] becomes uint8[3]; p/T.b: float32[] becomes float64[2]; p/E.n (int8) is added; p/T.c: p/E[] becomes p/E[1]",
	},
	{
		Name: "same md5sum, other arrays", Old: "P[2] a\n" + sub("p/P", "float32 x\nfloat32 y"), New: "P[] a\n" + sub("p/P", "float32 x\nfloat32 y"), Has: "m.a=[P(1,2),P(3,4)]", Wants: "m.a=[P(1,2),P(3,4)]",
		Changes: "p/T.a: p/P[2] becomes p/P[]",
	},
	{Name: "Header added", Old: "int32 a\n", New: "Header header\nint32 a\n" + header, Has: "m.a=1", Wants: "m.a=1", Changes: "p/T.header (std_msgs/Header) is added"},
	{
		Name: "Header added, with values", Old: "int32 a\n", New: "Header header\nint32 a\n" + header, Has: "m.a=1", Wants: "m.a=1; m.header.stamp=Time(100,7); m.header.frame_id='base'",
		Options: []string{"--set std_msgs/Header.stamp=received", "--set std_msgs/Header.frame_id=base"}, Changes: "p/T.header (std_msgs/Header) is added",
	},
	{
		Name: "Header removed", Old: "Header header\nint32 a\n" + header, New: "int32 a\n", Has: "m.a=1; m.header.frame_id='map'", Wants: "m.a=1", Options: []string{"--drop all"}, Loss: migration.Lost,
		Changes: "p/T.header (std_msgs/Header) is dropped",
	},
	{
		Name: "roslib/Header", Old: "roslib/Header header\nint32 a\n" + sub("roslib/Header", "uint32 seq\ntime stamp\nstring frame_id"), New: "std_msgs/Header header\nint32 a\n" + header, Has: "m.a=1; m.header.seq=3; m.header.frame_id='map'", Wants: "m.a=1; m.header.seq=3; m.header.frame_id='map'",
	},
	{
		Name: "nested three deep", Old: "A[] a\nint32 z\n" + sub("p/A", "string n\nB b") + sub("p/B", "C[2] c") + sub("p/C", "int16 x"), New: "A[] a\nint32 z\n" + sub("p/A", "string n\nB b") + sub("p/B", "C[2] c") + sub("p/C", "int32 x\nstring y"),
		Has: "m.a=[A('q',B([C(1),C(-2)])), A('',B([C(3),C(4)]))]; m.z=5", Wants: "m.a=[A('q',B([C(1,''),C(-2,'')])), A('',B([C(3,''),C(4,'')]))]; m.z=5",
		Changes: "p/C.x: int16 becomes int32; p/C.y (string) is added",
	},
	{
		Name: "field replaced by one that means something else", Old: "string a\nint32 b\n", New: "int32 a\nint32 b\n", Has: "m.a='seven'; m.b=2", Wants: "m.a=7; m.b=2", Options: []string{"--drop p/T.a", "--set p/T.a=7"}, Loss: migration.Lost,
		Changes: "p/T.a (string) is dropped; p/T.a (int32) is added",
	},
	{Name: "nothing", Old: "int32 a\nstring[] b\n", New: "int32 a\nstring[] b\n", Has: "m.a=1; m.b=['x','']", Wants: "m.a=1; m.b=['x','']"},
	{Name: "no fields", Old: "", New: "", Has: "pass", Wants: "pass"},
}
