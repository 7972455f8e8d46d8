use super::*;

const SPELLING: Spelling = Spelling {
    always_inline: "INLINE",
    absolute_is_system: false,
};

fn pass(text: &str) -> String {
    run(text, SPELLING).unwrap().text
}

/// The flags of each kernel that is registered.
fn flags(text: &str) -> Vec<(String, u32)> {
    let passed = pass(text);
    let entries = passed.split("::hip_host::Entry<").skip(1);
    entries
        .map(|entry| {
            let arguments = entry.split_once('>').unwrap().0;
            let [_, name, flags] = arguments.split(", ").collect::<Vec<_>>()[..] else {
                panic!("{arguments}")
            };
            (name.to_owned(), flags.parse().unwrap())
        })
        .collect()
}

#[test]
fn a_kernel_gets_its_thread_and_is_registered() {
    let passed = pass("extern \"C\" __global__ void k(float* a, int n) { a[n] = 1; }\nint x;");
    assert!(
        passed.starts_with(
            "extern \"C\" INLINE void k(const ::hip_host::Thread& hip_thread, float* a, int n) {"
        ),
        "{passed}"
    );
    assert!(passed.contains("hip_registration_k(\"k\""), "{passed}");
    assert_eq!(passed.lines().count(), 2);
    for empty in ["()", "(void)", "( )"] {
        let passed = pass(&format!("extern \"C\" __global__ void k{empty} {{}}"));
        let (_, params) = passed.split_once('(').unwrap();
        let (params, _) = params.split_once(')').unwrap();
        assert_eq!(params.trim(), "const ::hip_host::Thread& hip_thread");
    }
}

#[test]
fn kernels_are_found_however_they_are_written() {
    for text in [
        "extern \"C\" __global__ void k(int a) {}",
        "extern \"C\" { __global__ void k(int a) {} }",
        "extern \"C\" { namespace n { static void __global__ k(int a) {} } }",
        "namespace n { extern \"C\" void __launch_bounds__(64 * 2, 1) __global__ k(int a) {} }",
        "__global__ extern \"C\" void __attribute__((noinline)) k(int (*f)(int)) {}",
        "struct S { int m = 3; void f() { } S() : a{1} { } int a; }; int t[] = {1, 2};\n\
         extern \"C\" [[maybe_unused]] __global__ void k(S s = S{}) { if (1) { } }",
        "extern \"C\" __global__ void k(int); extern \"C\" __global__ void k(int a) {}",
        "enum E { A, B = 3 }; template <class T, int N = 3> struct U { T t; };\n\
         extern \"C\" __global__ void k() {}",
        "const char* s = \"{ __global__ void no() {\"; extern \"C\" __global__ void k() {}",
        "auto l = [](int a) { return a; }; extern \"C\" __global__ void k() {}",
        "bool operator==(int2 a, int2 b) { return a.x == b.x; } extern \"C\" __global__ void k() {}",
    ] {
        assert_eq!(flags(text), [("k".to_owned(), 0)], "{text}");
        assert!(
            !pass(text)
                .replace("\"{ __global__", "")
                .contains("__global__")
        );
    }
    assert!(
        pass("extern \"C\" __global__ __launch_bounds__(f(1, 2) * 4, 1) void k() {}")
            .contains("\"k\", f ( 1 , 2 ) * 4 , ")
    );
}

#[test]
fn kernels_without_a_name_of_their_own_are_not_registered() {
    for text in [
        "__global__ void k(int a) {}",
        "template <class T> __global__ void k(T a) {}",
        "extern \"C++\" { __global__ void k(int a) {} }",
        "template <int A, class T> __global__ void k(T a) {} template __global__ void k<1, int>(int);",
    ] {
        let passed = run(text, SPELLING).unwrap();
        assert_eq!(passed.nameless, ["k"], "{text}");
        assert!(!passed.text.contains("Registration"));
        assert_eq!(
            passed.text.matches("hip_thread").count(),
            text.matches("k(").count() + text.matches("int>(").count() + 4
        );
    }
}

#[test]
fn only_kernels_that_may_wait_pay_for_it() {
    let text = "void a() { __syncthreads(); } void b(int x) { a(); } int c() { return 1; }\n\
        extern \"C\" __global__ void direct() { __syncthreads(); }\n\
        extern \"C\" __global__ void deep() { b(1); }\n\
        extern \"C\" __global__ void plain() { c(); }";
    let expected = [("direct", 1), ("deep", 1), ("plain", 0)];
    assert_eq!(
        flags(text),
        expected.map(|(name, flag)| (name.to_owned(), flag))
    );
    // A call that has no name to follow.
    let text = "S operator+(S a, S b) { __syncthreads(); return a; }\n\
        extern \"C\" __global__ void k(S* s) { s[0] = s[0] + s[1]; }";
    assert_eq!(flags(text), [("k".to_owned(), 1)]);
    let text = "struct S { S() : a{1}, b(2) { __syncthreads(); } int a, b; };\n\
        extern \"C\" __global__ void k() { S s; }";
    assert_eq!(flags(text), [("k".to_owned(), 1)]);
}

#[test]
fn indices_are_set_for_functions_that_read_them() {
    let text = "int f() { return threadIdx.x; } int g() { return f(); } int h() { return 0; }\n\
        extern \"C\" __global__ void own() { h(); threadIdx.x; }\n\
        extern \"C\" __global__ void called() { g(); }";
    let expected = [("own", 0), ("called", 2)];
    assert_eq!(
        flags(text),
        expected.map(|(name, flag)| (name.to_owned(), flag))
    );
}

#[test]
fn ways_to_a_function_without_its_name_are_seen() {
    for way in [
        // Constructors: of a base, through an alias, of a member, with an initialiser.
        "struct B { B() { f(); } }; struct D : B {}; K { D d; }",
        "struct B { B() { f(); } }; using A = B; K { A a; }",
        "struct B { B() { f(); } }; typedef B A; K { A a; }",
        "struct B { B() { f(); } }; struct W { B b; }; K { W w; }",
        "struct S { int a = f(); }; K { S s; }",
        "struct S { S() : a(f()) {} int a; }; K { S s; }",
        "struct S { S() : a{f()} {} int a; }; K { S s; }",
        "struct R { int* begin() { f(); return p; } int* end() { return p; } int* p; }; \
         K { for (int i : R{}) {} }",
        // Default arguments, tables, variables that hold a function.
        "int g(int x = f()) { return x; } K { g(); }",
        "int (*table[])() = {f}; K { table[0](); }",
        "auto g = [](int x) { return f() + x; }; K { g(1); }",
        "template <class T> constexpr auto g = &f; K { g<int>(); }",
    ] {
        for (word, flag) in [("threadIdx.x", 2), ("(__syncthreads(), 1)", 1)] {
            let way = way.replace("K {", "extern \"C\" __global__ void k() {");
            let text = format!("int f() {{ return {word}; }} {way}");
            assert_eq!(flags(&text), [("k".to_owned(), flag)], "{text}");
        }
    }
    // Declarations that lead nowhere cost nothing.
    let text = "int f(); struct S; struct S { S() { f(); } ~S(); int f(int); int n = 3; };\n\
        int f() { return threadIdx.x; } typedef float real; extern \"C\" __global__ void k() {}";
    assert_eq!(flags(text), [("k".to_owned(), 0)]);
}

#[test]
fn indices_are_seen_where_locals_are_not() {
    let kernel = |body: &str| format!("extern \"C\" __global__ void k(int* a) {{ {body} }}");
    for body in [
        "auto f = [](int i) { return i + threadIdx.x; }; a[f(1)] = 1;",
        "g([a]() mutable -> int { return a[blockIdx.x]; });",
        "auto f = [&] { return [](int i) { return gridDim.x; }(1); };",
        "struct L { static int id() { return threadIdx.x; } }; a[L::id()] = 1;",
        "return [] { return blockDim.x; }();",
    ] {
        let text = kernel(body);
        assert_eq!(flags(&text), [("k".to_owned(), 2)], "{text}");
        assert!(!pass(&text).contains("threadIdx = hip_thread"), "{text}");
    }
    for body in [
        "auto f = [=](int i) { return i + threadIdx.x; }; auto g = [&, a] { return blockIdx.x; };",
        "a[threadIdx.x] = [](int i) { return i; }(threadIdx.x);",
        "struct P p = {}; int t[] = {threadIdx.x}; [[maybe_unused]] int i = a[0]; { i = threadIdx.x; }",
    ] {
        let text = kernel(body);
        assert_eq!(flags(&text), [("k".to_owned(), 0)], "{text}");
        assert!(pass(&text).contains("threadIdx = hip_thread"), "{text}");
    }
}

#[test]
fn shared_memory_gets_its_place() {
    let kernel = |body: &str| {
        let passed = pass(&format!("extern \"C\" __global__ void k() {{\n{body}\n}}"));
        passed.lines().nth(1).unwrap().trim().to_owned()
    };
    assert_eq!(
        kernel("__shared__ float a[4][5];"),
        "static thread_local float a[4][5];"
    );
    assert_eq!(
        kernel("static __shared__ S a;").trim(),
        "static thread_local S a;"
    );
    let dynamic = " = ::hip_host::Shared{hip_thread.shared};";
    for text in [
        "extern __shared__ float x[];",
        "__shared__ extern float x[];",
        "extern __shared__ __attribute__((aligned(16))) float x[];",
    ] {
        assert_eq!(kernel(text), format!("float (&x)[]{dynamic}"));
    }
    assert_eq!(
        kernel("extern __shared__ const unsigned char x[][16];"),
        format!("const unsigned char (&x)[][16]{dynamic}")
    );
    assert!(
        pass("int f() { extern __shared__ int x[]; return x[0]; }")
            .contains("{::hip_host::shared}")
    );
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words(pass("extern __shared__ alignas(16) float x[];")),
        "static const ::hip_host::SharedArray< float []> x{};"
    );
    let error = run("void f() {\nextern __shared__ int x;\n}", SPELLING)
        .err()
        .unwrap();
    assert!(
        error.to_string().contains(":2: extern __shared__"),
        "{error}"
    );
}

#[test]
fn what_a_cpu_cannot_do_is_named() {
    for (text, name) in [
        ("x = __shfl_down_sync(m, v, 1);", "__shfl_down_sync"),
        ("x = __ballot(1);", "__ballot"),
        ("tex2D<float>(t, 1, 2);", "tex2D"),
        ("texture<float, 2> t;", "texture"),
        ("cudaTextureObject_t t;", "cudaTextureObject_t"),
        ("namespace cg = cooperative_groups;", "cooperative_groups"),
        ("asm volatile(\"nop\");", "asm"),
        ("k<<<1, 2>>>(3);", "<<<…>>>"),
        ("__reduce_add_sync(1, 2);", "__reduce_add_sync"),
    ] {
        let error = run(&format!("# 7 \"a.cu\"\nvoid f() {{\n{text} }}"), SPELLING);
        let text = error
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(text.starts_with(&format!("a.cu:8: {name} (")), "{text}");
    }
    for fine in [
        "int texture = 1; float tex2D = 2; int asm_count; a << b; A<B<C<int>>> d;",
        "const char* s = \"__shfl\";",
        "# 1 \"/usr/include/x.h\" 3\n__asm__(\"x\");",
    ] {
        assert!(run(fine, SPELLING).is_ok(), "{fine}");
    }
}

#[test]
fn broken_texts_are_left_to_the_compiler() {
    let text = "extern \"C\" __global__ __launch_bounds__(3) void k(int a[2]) { __shared__ int x[f(\"}\")]; \
        extern __shared__ int y[]; if (a) { x[0]; } } template <class T> void g(T) {} struct {";
    for end in 0..text.len() {
        // Neither a panic nor an endless loop; what comes out does not compile anyhow.
        let _ = run(&text[..end], SPELLING);
        let _ = run(&text[end..], SPELLING);
    }
}
