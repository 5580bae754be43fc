"""Models of libraries built on PyTorch, each where it is installed: torchvision's detectors and segmenters, segmentation_models_pytorch,
vit-pytorch, x-transformers, diffusers, kornia, MONAI, torch_geometric, Keras on PyTorch."""
import contextlib
import importlib.util
import os

import torch
from torch import nn

from common import Table
from torch_functions import fn as add_function
from torch_layers import Fn

table = Table()
rand, randn = torch.rand, torch.randn
BATCH = {0: {0: "batch"}}


def has(name):
    return importlib.util.find_spec(name) is not None


def add(library, name, make, **options):
    if has(library):
        table("%s_%s" % (library, name), make, **options)


def image(*shape):
    return lambda: (randn(*shape),)


class Tensors(nn.Module):
    """A model that takes and returns tensors only: what a dictionary or an object has of them."""

    def __init__(self, model, listed=False):
        super().__init__()
        self.model, self.listed = model, listed

    def forward(self, *args):
        out = self.model(list(args)) if self.listed else self.model(*args)
        while isinstance(out, (list, tuple)) and len(out) == 1:
            out = out[0]
        if isinstance(out, torch.Tensor):
            return out
        if hasattr(out, "sample") and isinstance(out.sample, torch.Tensor):
            return out.sample
        if hasattr(out, "values"):
            out = tuple(out.values())
        return tuple(t for t in out if isinstance(t, torch.Tensor))


# ---- torchvision ----

def plain_nms():
    """torchvision::nms in Python, where its own cannot be loaded."""
    def nms(boxes, scores, iou_threshold):
        keep, order = [], scores.argsort(descending=True, stable=True).tolist()
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        gone = torch.zeros(len(scores), dtype=torch.bool)
        for i in order:
            if gone[i]:
                continue
            keep.append(i)
            low, high = torch.maximum(boxes[i, :2], boxes[:, :2]), torch.minimum(boxes[i, 2:], boxes[:, 2:])
            both = (high - low).clamp(min=0).prod(1)
            gone |= both / (area[i] + area - both) > iou_threshold
        return torch.tensor(keep, dtype=torch.long)
    with contextlib.suppress(RuntimeError):
        torch.library.impl("torchvision::nms", "CPU")(nms)


def detector(name, **more):
    def make():
        plain_nms()
        import torchvision

        torch.manual_seed(1)
        m = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=5, **more).eval()
        return Tensors(m, True), (rand(3, 64, 80),)
    return make


for n, more in [("retinanet_resnet50_fpn", dict(min_size=64, max_size=96)), ("fcos_resnet50_fpn", dict(min_size=64, max_size=96))]:
    add("torchvision", n, detector(n, **more), exporters=("ts",), tol=1e-3)
for n in ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]:
    add("torchvision", n, lambda n=n: (Tensors(getattr(__import__("torchvision").models.segmentation, n)(weights=None, weights_backbone=None, num_classes=5).eval()), (randn(1, 3, 64, 64),)), tol=1e-3)
for n in ["shufflenet_v2_x0_5", "squeezenet1_1", "mnasnet0_5", "googlenet", "vit_b_32", "swin_v2_t", "maxvit_t", "regnet_y_400mf", "convnext_tiny", "efficientnet_v2_s"]:
    add("torchvision", n, lambda n=n: (getattr(__import__("torchvision").models, n)(weights=None).eval(), (randn(1, 3, 224 if n in ("vit_b_32", "maxvit_t") else 96, 224 if n in ("vit_b_32", "maxvit_t") else 96),)), tol=1e-3)
for n in ["r3d_18", "mc3_18", "r2plus1d_18", "mvit_v2_s", "s3d"]:
    size = (1, 3, 16, 224, 224) if n == "mvit_v2_s" else (1, 3, 16, 64, 64)
    add("torchvision", n, lambda n=n, size=size: (getattr(__import__("torchvision").models.video, n)(weights=None).eval(), (randn(*size),)), exporters=("dy",), tol=1e-3)
add("torchvision", "raft_small", lambda: (__import__("torchvision").models.optical_flow.raft_small(weights=None).eval(), (randn(1, 3, 128, 128), randn(1, 3, 128, 128))), exporters=("ts",), tol=5e-3)

# ---- segmentation_models_pytorch ----

for n in ["Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus", "UPerNet", "Segformer"]:
    add("segmentation_models_pytorch", n.lower(), lambda n=n: (getattr(__import__("segmentation_models_pytorch"), n)("resnet18", encoder_weights=None, classes=3).eval(), (randn(2, 3, 64, 64),), (randn(3, 3, 64, 64),)), axes=BATCH, tol=1e-3)
for n in ["mobilenet_v2", "efficientnet-b0", "timm-regnetx_002", "mit_b0", "densenet121", "xception", "mobileone_s0"]:
    add("segmentation_models_pytorch", "unet_" + n.replace("-", "_"), lambda n=n: (__import__("segmentation_models_pytorch").Unet(n, encoder_weights=None, decoder_attention_type="scse" if n == "mobilenet_v2" else None).eval(), (randn(2, 3, 64, 64),)), tol=1e-3)

# ---- vit-pytorch ----

SIZES = dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=48)
VITS = {"vit.ViT": {}, "simple_vit.SimpleViT": {}, "deepvit.DeepViT": {}, "cait.CaiT": dict(cls_depth=1), "parallel_vit.ViT": {}, "simple_vit_with_patch_dropout.SimpleViT": {}, "simple_vit_with_register_tokens.SimpleViT": {}, "vit_for_small_dataset.ViT": {}, "simple_flash_attn_vit.SimpleViT": dict(use_flash=False), "simple_vit_with_qk_norm.SimpleViT": {},
        "vit_with_patch_dropout.ViT": {}, "look_vit.LookViT": dict(_drop=("mlp_dim",), highres_patch_size=4, cross_attn_heads=2, cross_attn_dim_head=16, dim_head=16), "normalized_vit.nViT": dict(_drop=("mlp_dim",)), "vit_with_decorr.ViT": {}, "learnable_memory_vit.ViT": {}, "xcit.XCiT": dict(cls_depth=1), "simple_uvit.SimpleUViT": {},
        "simple_vit_with_hyper_connections.SimpleViT": dict(num_residual_streams=2), "jumbo_vit.JumboViT": dict(num_jumbo_cls=1, jumbo_ff_mult=2), "simple_vit_with_value_residual.SimpleViT": {}, "vit_with_keel_post_ln.ViT": {}}
for n, more in VITS.items():
    def vit(n=n, more=more):
        module, cls = n.split(".")
        given = {k: v for k, v in dict(SIZES, **more).items() if k not in more.get("_drop", ()) and k != "_drop"}
        return Tensors(getattr(importlib.import_module("vit_pytorch." + module), cls)(**given).eval()), (randn(2, 3, 32, 32),), (randn(3, 3, 32, 32),)
    add("vit_pytorch", n.split(".")[0], vit, axes=BATCH, tol=1e-3)
CONVS = {"cvt.CvT": dict(num_classes=5, s1_emb_dim=16, s2_emb_dim=16, s3_emb_dim=16, s1_heads=1, s2_heads=2, s3_heads=2, s3_depth=1), "mobile_vit.MobileViT": dict(image_size=(64, 64), dims=[16, 16, 16], channels=[8, 8, 8, 8, 8, 8, 16, 16, 16, 16, 32], num_classes=5), "levit.LeViT": dict(image_size=64, num_classes=5, stages=2, dim=(16, 16), depth=1, heads=(2, 2), mlp_mult=2),
         "regionvit.RegionViT": dict(dim=(16, 16, 16, 16), depth=(1, 1, 1, 1), window_size=2, num_classes=5), "crossformer.CrossFormer": dict(dim=(16, 16, 16, 16), depth=(1, 1, 1, 1), global_window_size=(4, 4, 2, 1), local_window_size=2, num_classes=5), "scalable_vit.ScalableViT": dict(num_classes=5, dim=16, heads=(1, 2, 2, 2), depth=(1, 1, 1, 1), ssa_dim_key=(8, 8, 8, 8), reduction_factor=(4, 2, 1, 1), window_size=(8, 4, None, None)),
         "max_vit.MaxViT": dict(num_classes=5, dim_conv_stem=16, dim=16, depth=(1, 1), window_size=4, dim_head=8), "sep_vit.SepViT": dict(num_classes=5, dim=16, dim_head=8, heads=(1, 2, 2, 2), depth=(1, 1, 1, 1), window_size=2), "nest.NesT": dict(image_size=64, patch_size=4, dim=16, heads=2, num_hierarchies=3, block_repeats=(1, 1, 1), num_classes=5), "pit.PiT": dict(image_size=64, patch_size=16, dim=32, num_classes=5, depth=(1, 1), heads=2, mlp_dim=32),
         "t2t.T2TViT": dict(image_size=64, dim=32, depth=1, heads=2, mlp_dim=32, num_classes=5), "cross_vit.CrossViT": dict(image_size=64, num_classes=5, depth=1, sm_dim=16, sm_patch_size=8, sm_enc_depth=1, sm_enc_heads=2, sm_enc_mlp_dim=32, lg_dim=24, lg_patch_size=32, lg_enc_depth=1, lg_enc_heads=2, lg_enc_mlp_dim=32, cross_attn_depth=1, cross_attn_heads=2), "rvt.RvT": dict(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=32),
         "twins_svt.TwinsSVT": dict(num_classes=5, s1_emb_dim=16, s1_depth=1, s2_emb_dim=16, s2_depth=1, s3_emb_dim=16, s3_depth=1, s4_emb_dim=16, s4_depth=1, s1_local_patch_size=4, s2_local_patch_size=4, s3_local_patch_size=4, s1_global_k=2, s2_global_k=2, s3_global_k=2, s4_global_k=2)}
for n, given in CONVS.items():
    def conv(n=n, given=given):
        module, cls = n.split(".")
        size = given.get("image_size", 128)
        size = size[0] if isinstance(size, tuple) else size
        return Tensors(getattr(importlib.import_module("vit_pytorch." + module), cls)(**given).eval()), (randn(1, 3, size, size),)
    add("vit_pytorch", n.split(".")[0], conv, tol=1e-3)

# ---- x-transformers ----

for k, more in enumerate([dict(rotary_pos_emb=True), dict(alibi_pos_bias=True, alibi_num_heads=2), dict(rel_pos_bias=True), dict(use_rmsnorm=True, ff_glu=True, ff_swish=True), dict(attn_qk_norm=True), dict(macaron=True), dict(sandwich_norm=True), dict(attn_talking_heads=True), dict(attn_kv_heads=1), dict(residual_attn=True), dict(dynamic_pos_bias=True),
                          dict(attn_num_mem_kv=2), dict(attn_sparse_topk=3), dict(shift_tokens=1), dict(resi_dual=True), dict(gate_residual=True), dict(attn_gate_values=True), dict(use_simple_rmsnorm=True), dict(ff_relu_squared=True), dict(attn_head_scale=True), dict(rotary_xpos=True), dict(use_dynamic_tanh=True), dict(attn_softclamp_logits=True), dict(num_residual_streams=2), dict(ff_no_bias=True)]):
    add("x_transformers", "decoder_%02d" % k, lambda more=more: (lambda x: (x.TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=x.Decoder(dim=32, depth=2, heads=2, attn_dim_head=16, **more)).eval(), (torch.randint(0, 40, (2, 8)),), (torch.randint(0, 40, (3, 8)),)))(__import__("x_transformers")), axes=BATCH, tol=1e-3)
add("x_transformers", "encoder", lambda: (lambda x: (x.ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=x.Encoder(dim=32, depth=2, heads=2)).eval(), (randn(2, 3, 32, 32),)))(__import__("x_transformers")), tol=1e-3)

# ---- diffusers ----

BLOCKS = dict(block_out_channels=(8, 16), norm_num_groups=4, layers_per_block=1)
DIFFUSERS = {
    "unet2d": ("UNet2DModel", dict(BLOCKS, sample_size=16, attention_head_dim=4, down_block_types=("DownBlock2D", "AttnDownBlock2D"), up_block_types=("AttnUpBlock2D", "UpBlock2D")), lambda: (randn(2, 3, 16, 16), torch.tensor([10, 20]))),
    "unet2d_resnet": ("UNet2DModel", dict(BLOCKS, sample_size=16, attention_head_dim=4, downsample_type="resnet", upsample_type="resnet", down_block_types=("ResnetDownsampleBlock2D", "SkipDownBlock2D"), up_block_types=("SkipUpBlock2D", "ResnetUpsampleBlock2D")), lambda: (randn(2, 3, 16, 16), torch.tensor([10, 20]))),
    "unet2d_condition": ("UNet2DConditionModel", dict(BLOCKS, sample_size=16, attention_head_dim=4, cross_attention_dim=16, down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D")), lambda: (randn(2, 4, 16, 16), torch.tensor([10, 20]), randn(2, 5, 16))),
    "unet1d": ("UNet1DModel", dict(block_out_channels=(8, 8, 16), sample_size=32, in_channels=2, out_channels=2, extra_in_channels=8), lambda: (randn(2, 2, 32), torch.tensor([10, 20]))),
    "autoencoder_kl": ("AutoencoderKL", dict(BLOCKS, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), lambda: (randn(1, 3, 16, 16),)), "autoencoder_tiny": ("AutoencoderTiny", dict(encoder_block_out_channels=(8, 8), decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 1), num_decoder_blocks=(1, 1)), lambda: (randn(1, 3, 16, 16),)),
    "vq_model": ("VQModel", dict(BLOCKS, num_vq_embeddings=9, down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2), lambda: (randn(1, 3, 16, 16),)), "dit": ("DiTTransformer2DModel", dict(num_attention_heads=2, attention_head_dim=8, num_layers=2, sample_size=8, num_embeds_ada_norm=20, norm_num_groups=4), lambda: (randn(2, 4, 8, 8), torch.tensor([1, 5]), torch.tensor([1, 2]))),
    "pixart": ("PixArtTransformer2DModel", dict(num_attention_heads=2, attention_head_dim=8, num_layers=2, sample_size=8, cross_attention_dim=16, caption_channels=12, use_additional_conditions=False), lambda: (randn(2, 4, 8, 8), randn(2, 5, 12), torch.tensor([1, 5]))),
    "sd3": ("SD3Transformer2DModel", dict(sample_size=16, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=16, caption_projection_dim=16, pooled_projection_dim=12, out_channels=4, pos_embed_max_size=16), lambda: (randn(1, 4, 16, 16), randn(1, 5, 16), randn(1, 12), torch.tensor([5]))),
    "prior": ("PriorTransformer", dict(num_attention_heads=2, attention_head_dim=8, num_layers=2, embedding_dim=16, num_embeddings=7), lambda: (randn(2, 16), torch.tensor([3, 4]), randn(2, 16), randn(2, 7, 16))),
    "unet3d": ("UNet3DConditionModel", dict(BLOCKS, sample_size=16, attention_head_dim=4, cross_attention_dim=16, down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"), up_block_types=("UpBlock3D", "CrossAttnUpBlock3D")), lambda: (randn(1, 4, 3, 16, 16), torch.tensor([10]), randn(1, 5, 16))),
}
for n, (cls, given, call) in DIFFUSERS.items():
    add("diffusers", n, lambda cls=cls, given=given, call=call: (Tensors(getattr(__import__("diffusers"), cls)(**given).eval()), call()), tol=1e-3)

# ---- kornia ----

K = {
    "filters": lambda k, x: (k.filters.gaussian_blur2d(x, (3, 5), (1.0, 1.5)), k.filters.sobel(x), k.filters.laplacian(x, 3), k.filters.box_blur(x, (3, 3)), k.filters.median_blur(x, (3, 3)), k.filters.unsharp_mask(x, (3, 3), (1.0, 1.0)), k.filters.spatial_gradient(x), k.filters.bilateral_blur(x, (3, 3), 0.1, (1.5, 1.5)), k.filters.motion_blur(x, 5, 30.0, 0.5)),
    "colours": lambda k, x: (k.color.rgb_to_hsv(x), k.color.rgb_to_lab(x), k.color.rgb_to_ycbcr(x), k.color.rgb_to_grayscale(x), k.color.rgb_to_luv(x), k.color.rgb_to_hls(x), k.color.hsv_to_rgb(x), k.color.lab_to_rgb(x), k.color.rgb_to_yuv(x), k.color.rgb_to_xyz(x), k.color.sepia(x)),
    "enhance": lambda k, x: (k.enhance.adjust_brightness(x, 0.2), k.enhance.adjust_contrast(x, 0.7), k.enhance.adjust_gamma(x, 1.5), k.enhance.adjust_hue(x, 0.3), k.enhance.adjust_saturation(x, 1.4), k.enhance.normalize(x, torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.2, 0.3, 0.1])), k.enhance.posterize(x, 3), k.enhance.sharpness(x, 1.5), k.enhance.solarize(x, 0.4), k.enhance.normalize_min_max(x)),
    "geometry": lambda k, x: (k.geometry.transform.rotate(x, torch.tensor([20.0, 35.0])), k.geometry.transform.resize(x, (7, 9)), k.geometry.transform.hflip(x), k.geometry.transform.pyrdown(x), k.geometry.transform.translate(x, torch.tensor([[1.0, 2.0], [0.5, -1.0]])), k.geometry.transform.rescale(x, 0.5), k.geometry.transform.center_crop(x, (6, 6)), k.geometry.transform.warp_affine(x, torch.tensor([[[1.0, 0.1, 0.0], [0.2, 0.9, 1.0]]]).repeat(2, 1, 1), (8, 9))),
    "warps": lambda k, x: (k.geometry.transform.warp_perspective(x, torch.tensor([[[1.0, 0.1, 0.0], [0.2, 0.9, 1.0], [0.001, 0.002, 1.0]]]).repeat(2, 1, 1), (8, 9)), x),
    "morphology": lambda k, x: (k.morphology.dilation(x, torch.ones(3, 3)), k.morphology.erosion(x, torch.ones(3, 3)), k.morphology.opening(x, torch.ones(3, 3)), k.morphology.gradient(x, torch.ones(3, 3)), k.morphology.top_hat(x, torch.ones(3, 3))),
    "features": lambda k, x: (k.feature.harris_response(x[:, :1]), k.feature.gftt_response(x[:, :1]), k.feature.hessian_response(x[:, :1]), k.feature.dog_response_single(x[:, :1])),
    "metrics": lambda k, x: (k.metrics.ssim(x, x.flip(0), 5), k.metrics.psnr(x, x.flip(0), 1.0), k.losses.total_variation(x), k.losses.charbonnier_loss(x, x.flip(0)), k.losses.js_div_loss_2d(x.softmax(-1), x.flip(0).softmax(-1)), k.geometry.subpix.spatial_soft_argmax2d(x), k.geometry.subpix.conv_soft_argmax2d(x)),
    "rotations": lambda k, x: (k.geometry.conversions.quaternion_to_rotation_matrix(x[:, :2, 0, :4]), k.geometry.conversions.axis_angle_to_rotation_matrix(x[:, 0, 0, :3]), k.geometry.conversions.axis_angle_to_quaternion(x[:, 0, 0, :3]), k.geometry.conversions.cart2pol(x[:, 0], x[:, 1]), k.geometry.conversions.quaternion_exp_to_log(x[:, :2, 0, :4]), k.geometry.conversions.rotation_matrix_to_quaternion(torch.eye(3)[None] + 0.0 * x[:1, 0, :3, :3])),
}
for n, f in K.items():
    if has("kornia"):
        add_function("kornia_" + n, lambda x, f=f: f(__import__("kornia"), x), lambda: rand(2, 3, 12, 14), into=table, tol=1e-3)

# ---- MONAI ----

MONAI = {"UNet": dict(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), "SegResNet": dict(spatial_dims=3, init_filters=8), "BasicUNet": dict(spatial_dims=3, features=(4, 4, 8, 8, 8, 4)), "VNet": dict(spatial_dims=3), "AttentionUnet": dict(spatial_dims=3, in_channels=1, out_channels=2, channels=(4, 8, 16), strides=(2, 2)),
         "UNETR": dict(in_channels=1, out_channels=2, img_size=(32, 32, 32), feature_size=4, hidden_size=24, mlp_dim=32, num_heads=2), "SwinUNETR": dict(in_channels=1, out_channels=2, feature_size=12, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 2)), "DynUNet": dict(spatial_dims=3, in_channels=1, out_channels=2, kernel_size=(3, 3, 3), strides=(1, 2, 2), upsample_kernel_size=(2, 2)),
         "HighResNet": dict(spatial_dims=3), "RegUNet": dict(spatial_dims=3, in_channels=1, num_channel_initial=4, depth=2, out_channels=3), "FlexibleUNet": dict(in_channels=1, out_channels=2, backbone="resnet10", spatial_dims=3), "DenseNet121": dict(spatial_dims=3, in_channels=1, out_channels=2)}
for n, given in MONAI.items():
    add("monai", n.lower(), lambda n=n, given=given: (Tensors(getattr(__import__("monai.networks.nets", fromlist=["x"]), n)(**given).eval()), (randn(1, 1, 32, 32, 32) if n not in ("SwinUNETR", "DenseNet121") else randn(1, 1, 64, 64, 64),)), tol=1e-3)

# ---- torch_geometric ----

GRAPHS = {"GCNConv": {}, "SAGEConv": {}, "GATConv": dict(heads=2), "GATv2Conv": dict(heads=2), "GraphConv": {}, "TransformerConv": dict(heads=2), "ChebConv": dict(K=2), "GINConv": None, "TAGConv": {}, "ARMAConv": {}, "SGConv": {}, "LEConv": {}, "GENConv": {}, "ClusterGCNConv": {}, "FiLMConv": {}, "ResGatedGraphConv": {}, "MFConv": {}, "SuperGATConv": {}, "GeneralConv": {}, "EdgeConv": None}
for n, given in GRAPHS.items():
    def graph(n=n, given=given):
        g = __import__("torch_geometric.nn", fromlist=["x"])
        if given is None:
            m = getattr(g, n)(nn.Sequential(nn.Linear(5 if n == "GINConv" else 10, 6), nn.ReLU(), nn.Linear(6, 4)))
        else:
            m = getattr(g, n)(5, 4, **given)
        return m.eval(), (randn(6, 5), torch.randint(0, 6, (2, 14))), (randn(8, 5), torch.randint(0, 8, (2, 11)))
    add("torch_geometric", n.lower(), graph, axes={0: {0: "nodes"}, 1: {1: "edges"}}, tol=1e-3)
for n in ["global_mean_pool", "global_max_pool", "global_add_pool"]:
    add("torch_geometric", n, lambda n=n: (Fn(lambda x, b: getattr(__import__("torch_geometric.nn", fromlist=["x"]), n)(x, b, 3)), (randn(7, 4), torch.tensor([0, 0, 1, 1, 1, 2, 2]))), tol=1e-3)

# ---- Keras on PyTorch ----


def keras(f):
    def make():
        os.environ["KERAS_BACKEND"] = "torch"
        import keras

        model, shape = f(keras, keras.layers)
        return Tensors(model), (randn(2, *shape),)
    return make


def stack(*layers):
    return lambda k, L: (lambda made: k.Sequential(made))([layer(L) for layer in layers])


KERAS = {
    "conv": ((8, 9, 3), lambda L: [L.Conv2D(6, 3, 2, "same", activation="relu"), L.DepthwiseConv2D(3), L.SeparableConv2D(5, 3, padding="same"), L.GlobalAveragePooling2D()]), "conv_transpose": ((5, 6, 3), lambda L: [L.Conv2DTranspose(4, 3, 2, "same"), L.Conv2DTranspose(3, 4, 2, "valid"), L.UpSampling2D(2, interpolation="bilinear")]),
    "conv1d": ((20, 3), lambda L: [L.Conv1D(6, 3, padding="causal", dilation_rate=2), L.MaxPooling1D(2), L.SeparableConv1D(4, 3), L.GlobalMaxPooling1D()]), "conv3d": ((6, 7, 8, 2), lambda L: [L.Conv3D(4, 3, padding="same"), L.AveragePooling3D(2, padding="same"), L.Conv3DTranspose(2, 2, 2)]), "lstm": ((6, 4), lambda L: [L.Bidirectional(L.LSTM(5, return_sequences=True)), L.GRU(4, return_sequences=True), L.SimpleRNN(3)]),
    "norms": ((6, 7, 8), lambda L: [L.BatchNormalization(), L.LayerNormalization(), L.GroupNormalization(4), L.UnitNormalization(), L.RMSNormalization() if hasattr(L, "RMSNormalization") else L.ReLU()]), "activations": ((9,), lambda L: [L.Dense(8, activation=a) for a in ("elu", "selu", "gelu", "silu", "mish", "softplus", "softsign", "hard_sigmoid", "hard_silu", "leaky_relu", "relu6", "celu", "glu", "log_softmax", "sparsemax", "squareplus", "tanh_shrink", "hard_shrink")]),
    "shapes": ((4, 6, 3), lambda L: [L.ZeroPadding2D(((1, 2), (0, 1))), L.Cropping2D(((1, 0), (1, 0))), L.Permute((3, 1, 2)), L.Reshape((3, -1)), L.Flatten(), L.RepeatVector(3)]), "conv_lstm": ((3, 6, 7, 2), lambda L: [L.ConvLSTM2D(3, 3, padding="same", return_sequences=True), L.TimeDistributed(L.Conv2D(2, 3)), L.ConvLSTM2D(2, 3)]), "discretization": ((5,), lambda L: [L.Rescaling(2.0, 1.0), L.Dense(4), L.Normalization(mean=0.5, variance=2.0)]),
    "image_layers": ((8, 9, 3), lambda L: [L.Resizing(12, 10), L.CenterCrop(8, 8), L.Rescaling(1 / 255.0)]), "einsum": ((6, 8), lambda L: [L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"), L.Dense(3)]),
}
for n, (shape, layers) in KERAS.items():
    add("keras", n, keras(lambda k, L, layers=layers, shape=shape: (k.Sequential([k.Input(shape)] + layers(L)), shape)), exporters=("dy",), tol=1e-3)
for n in ["MobileNetV2", "MobileNetV3Small", "EfficientNetV2B0", "DenseNet121", "NASNetMobile", "Xception", "ResNet50V2", "ConvNeXtTiny"]:
    add("keras", n.lower(), keras(lambda k, L, n=n: (getattr(k.applications, n)(weights=None, input_shape=(96, 96, 3), classes=5), (96, 96, 3))), exporters=("dy",), tol=1e-3)
