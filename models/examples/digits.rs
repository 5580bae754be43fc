//! digits ARCHIVE PICTURE: the digits model from Rust. Models and contexts close themselves.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::{env, fs, process, ptr, slice};

mod ffi {
    use super::*;
    pub const MAX_RANK: usize = 12;
    #[repr(C)]
    pub struct Tensor {
        pub dtype: *const c_char,
        pub rank: c_int,
        pub dims: [i64; MAX_RANK],
        pub data: *mut c_void,
    }
    #[link(name = "xrt")]
    extern "C" {
        pub fn xrt_error() -> *const c_char;
        pub fn xrt_open(path: *const c_char) -> *mut c_void;
        pub fn xrt_close(model: *mut c_void);
        pub fn xrt_context_new(model: *mut c_void, threads: c_int) -> *mut c_void;
        pub fn xrt_context_free(context: *mut c_void);
        pub fn xrt_set_input(context: *mut c_void, i: c_int, t: *const Tensor) -> bool;
        pub fn xrt_run(context: *mut c_void) -> bool;
        pub fn xrt_output(context: *const c_void, i: c_int, out: *mut Tensor) -> bool;
    }
}

fn failure() -> String {
    unsafe { CStr::from_ptr(ffi::xrt_error()) }
        .to_string_lossy()
        .into_owned()
}

struct Model(*mut c_void);

impl Model {
    fn open(path: &str) -> Result<Model, String> {
        let path = CString::new(path).map_err(|e| e.to_string())?;
        let model = unsafe { ffi::xrt_open(path.as_ptr()) };
        if model.is_null() {
            Err(failure())
        } else {
            Ok(Model(model))
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        unsafe { ffi::xrt_close(self.0) }
    }
}

/// A context lives no longer than its model.
struct Context<'m>(*mut c_void, std::marker::PhantomData<&'m Model>);

impl<'m> Context<'m> {
    fn new(model: &'m Model) -> Result<Context<'m>, String> {
        let context = unsafe { ffi::xrt_context_new(model.0, 0) };
        if context.is_null() {
            Err(failure())
        } else {
            Ok(Context(context, std::marker::PhantomData))
        }
    }

    /// Output 0 for this input 0, both f32; the input is borrowed until the run is over.
    fn run(&mut self, dims: &[i64], x: &mut [f32]) -> Result<&[f32], String> {
        if dims.len() > ffi::MAX_RANK || dims.iter().product::<i64>() != x.len() as i64 {
            return Err("the input has another number of elements than its dims".into());
        }
        let mut input = ffi::Tensor {
            dtype: b"f32\0".as_ptr().cast(),
            rank: dims.len() as c_int,
            dims: [0; ffi::MAX_RANK],
            data: x.as_mut_ptr().cast(),
        };
        input.dims[..dims.len()].copy_from_slice(dims);
        let mut output = ffi::Tensor {
            dtype: ptr::null(),
            rank: 0,
            dims: [0; ffi::MAX_RANK],
            data: ptr::null_mut(),
        };
        unsafe {
            if !ffi::xrt_set_input(self.0, 0, &input)
                || !ffi::xrt_run(self.0)
                || !ffi::xrt_output(self.0, 0, &mut output)
            {
                return Err(failure());
            }
            if CStr::from_ptr(output.dtype).to_bytes() != b"f32" {
                return Err("the output is not f32".into());
            }
            let count = output.dims[..output.rank as usize].iter().product::<i64>();
            Ok(slice::from_raw_parts(output.data.cast(), count as usize))
        }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        unsafe { ffi::xrt_context_free(self.0) }
    }
}

fn classify(archive: &str, picture: &str) -> Result<usize, String> {
    let bytes = fs::read(picture).map_err(|e| format!("{picture}: {e}"))?;
    let pixels = bytes.get(128..).unwrap_or(&[]); // an .npy file of this size has a header of 128 bytes
    let mut x: Vec<f32> = pixels
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    let model = Model::open(archive)?;
    let mut context = Context::new(&model)?;
    let probability = context.run(&[1, 1, 28, 28], &mut x)?;
    Ok((0..probability.len()).fold(0, |best, i| {
        if probability[i] > probability[best] {
            i
        } else {
            best
        }
    }))
}

fn main() {
    let args: Vec<String> = env::args().collect();
    if args.len() != 3 {
        eprintln!("usage: digits ARCHIVE PICTURE");
        process::exit(2);
    }
    match classify(&args[1], &args[2]) {
        Ok(best) => println!("it is a {best}"),
        Err(text) => {
            eprintln!("{text}");
            process::exit(1);
        }
    }
}
