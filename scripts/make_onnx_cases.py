#!/usr/bin/env python3
"""Makes test/onnx: small models of operators that the public ONNX suite lacks, random inputs, and what onnxruntime
computes for them. Needs onnx and onnxruntime; the cases are kept in the tree, so that nobody needs it to test.

    scripts/make_onnx_cases.py OUT [SEED] [--all]

Without --all only the cases that are kept in the tree, where they lie by family (test/onnx/FAMILY/CASE),
packed by scripts/pack_cases.py. Cases in which onnxruntime reads uninitialised scores (two
classes with base values of which the trees score one, PROBIT of one score) or saturates sums of products at 16 bits
(u8 by i8) are left out of them.
"""
import os, re, shutil, sys
import numpy as np, onnx, onnxruntime as ort
from onnx import helper as h, numpy_helper as nh, TensorProto as T
args=[a for a in sys.argv[1:] if a!='--all']; everything='--all' in sys.argv
out=args[0]; rng=np.random.default_rng(int(args[1]) if len(args)>1 else 0)
KEPT=re.compile(r"(treereg_(NONE|SOFTMAX)_3_SUM_1|treereg_NONE_3_(AVERAGE|MIN|MAX)_0|treecls_(NONE|LOGISTIC|SOFTMAX|SOFTMAX_ZERO)_3_012_(neg|pos)_b0_0|treecls_NONE_3_012_neg_b1_1|treecls_(NONE|LOGISTIC)_2_0_(neg|pos)_b[01]_0|treecls_NONE_2_1_neg_b0_1|treecls_NONE_1_0_neg_b0_0|linreg_(NONE|SOFTMAX)_3|lincls_(NONE|LOGISTIC)_2_1_0|lincls_(SOFTMAX|SOFTMAX_ZERO)_3_3_1|svmreg_(LINEAR|POLY|RBF|SIGMOID)_0|svmreg_RBF_1|svmcls_(LINEAR|RBF)_[23]_[01]_NONE_[01]|svmcls_RBF_2_0_LOGISTIC_0|svmlin_3_SOFTMAX|norm_\w+|imputer\w+|onehot_(int64|float32|str)|catmap\w+|labenc1\w+|labenc2_is|featvec\w*|scaler|zipmap\w+|dictvec\w+|castmap\w+|afe1|TreeEnsembleRegressor_repeated)$")
LEFT_OUT=re.compile(r"DynamicQuantizeMatMul_i8|QLinearAveragePool")
def kept(name, domain): return everything or (KEPT.match(name) if domain=="ai.onnx.ml" else not LEFT_OUT.match(name))
def typ(name,a):
    if isinstance(a,np.ndarray):
        return h.make_tensor_value_info(name,h.np_dtype_to_tensor_dtype(a.dtype) if a.dtype!=object else T.STRING,a.shape)
    if isinstance(a,dict):
        v=next(iter(a.values())); e=T.STRING if isinstance(v,str) else T.INT64 if isinstance(v,int) else T.FLOAT
        return h.make_value_info(name,h.make_map_type_proto(T.INT64 if isinstance(next(iter(a)),int) else T.STRING,h.make_tensor_type_proto(e,[])))
def a_map(mp,mm): # fills a MapProto
    k=list(mm.keys())
    if isinstance(k[0],int): mp.key_type=T.INT64; mp.keys.extend(k)
    else: mp.key_type=T.STRING; mp.string_keys.extend([x.encode() for x in k])
    mp.values.elem_type=onnx.SequenceProto.TENSOR
    mp.values.tensor_values.extend([nh.from_array(np.array(x,object if isinstance(x,str) else np.int64 if isinstance(x,int) else np.float32)) for x in mm.values()])
    return mp
def in_place(s,feeds,shared): # {output: the input in whose memory onnxruntime wants it}
    b=s.io_binding(); own={k:ort.OrtValue.ortvalue_from_numpy(v.copy()) for k,v in feeds.items()}
    for k,v in own.items(): b.bind_ortvalue_input(k,v)
    for o in s.get_outputs(): b.bind_ortvalue_output(o.name,own[shared[o.name]]) if o.name in shared else b.bind_output(o.name)
    s.run_with_iobinding(b)
    return [np.array(own[shared[o.name]].numpy() if o.name in shared else v.numpy()) for o,v in zip(s.get_outputs(),b.get_outputs())]
def case(name,nodes,feeds,outs,opsets=(('',21),('ai.onnx.ml',3)),inits=(),rtol=1e-4,atol=1e-5,shared={}):
    if not kept(name,nodes[0].domain): return
    ins=[typ(k,v) for k,v in feeds.items()]
    g=h.make_graph(nodes,name,ins,[onnx.ValueInfoProto(name=o) for o in outs],initializer=list(inits))
    m=h.make_model(g,opset_imports=[h.make_opsetid(*o) for o in opsets],ir_version=10)
    so=ort.SessionOptions(); so.log_severity_level=3
    try:
        s=ort.InferenceSession(m.SerializeToString(),so); r=in_place(s,feeds,shared) if shared else s.run(None,feeds)
    except Exception as e: print('ORT',name,str(e)[:150]); return
    vis=[]
    for o,v in zip(outs,r):
        if isinstance(v,np.ndarray): vis.append(typ(o,v))
        else:
            vis.append(onnx.ValueInfoProto(name=o));
            kt=T.INT64 if isinstance(next(iter(v[0])),int) else T.STRING
            vis[-1]=h.make_value_info(o,h.make_sequence_type_proto(h.make_map_type_proto(kt,h.make_tensor_type_proto(T.FLOAT,[]))))
    g=h.make_graph(nodes,name,ins,vis,initializer=list(inits))
    m=h.make_model(g,opset_imports=[h.make_opsetid(*o) for o in opsets],ir_version=10)
    d=f'{out}/{name}'; os.makedirs(d+'/test_data_set_0'); open(d+'/model.onnx','wb').write(m.SerializeToString())
    for i,v in enumerate(feeds.values()): open(f'{d}/test_data_set_0/input_{i}.pb','wb').write((a_map(onnx.MapProto(),v) if isinstance(v,dict) else nh.from_array(v)).SerializeToString())
    for i,v in enumerate(r):
        if isinstance(v,np.ndarray): b=nh.from_array(v)
        else:
            b=onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP)
            for mm in v: a_map(b.map_values.add(),mm)
        open(f'{d}/test_data_set_0/output_{i}.pb','wb').write(b.SerializeToString())
    open(d+'/data.json','w').write('{"rtol":%g,"atol":%g}'%(rtol,atol))
f32=lambda *s:rng.standard_normal(s).astype(np.float32)
N=lambda op,i,o,**k:h.make_node(op,i,o,domain='ai.onnx.ml',**k)
def tree(tid,depth,feats):
    # returns list of (nodeid, mode, feat, val, t, f)
    nodes=[]
    def rec(d):
        i=len(nodes); nodes.append(None)
        if d==0 or rng.random()<.15: nodes[i]=('LEAF',0,0.,0,0); return i
        t=rec(d-1); f=rec(d-1)
        nodes[i]=(rng.choice(['BRANCH_LEQ']*4+['BRANCH_LT','BRANCH_GTE','BRANCH_GT','BRANCH_EQ','BRANCH_NEQ']) ,int(rng.integers(feats)),float(np.float32(rng.standard_normal())),t,f); return i
    rec(depth); return nodes
def trees(prefix,nt,depth,feats,targets,pos,multi=False,x=None):
    a={k:[] for k in 'treeids nodeids featureids values modes truenodeids falsenodeids'.split()}; w={k:[] for k in 'treeids nodeids ids weights'.split()}
    for t in range(nt):
        for i,(m,f,v,y,n) in enumerate(tree(t,depth,feats)):
            a['treeids'].append(t);a['nodeids'].append(i);a['featureids'].append(f);a['values'].append(v);a['modes'].append(str(m));a['truenodeids'].append(y);a['falsenodeids'].append(n)
            if m=='LEAF':
                for c in (targets if multi else [targets[t%len(targets)]]):
                    w['treeids'].append(t);w['nodeids'].append(i);w['ids'].append(c);w['weights'].append(float(np.float32(abs(rng.standard_normal())/nt if pos else rng.standard_normal())))
    r={'nodes_'+k:v for k,v in a.items()}; r.update({prefix+'_'+k:v for k,v in w.items()}); return r
PT=['NONE','SOFTMAX','LOGISTIC','SOFTMAX_ZERO','PROBIT']
for pt in PT:
  for nt in (1,3):
    for agg in ('SUM','AVERAGE','MIN','MAX'):
      if agg!='SUM' and pt!='NONE': continue
      for base in (0,1):
        k=trees('target',6,3,4,list(range(nt)),pt=='PROBIT',multi=agg in('MIN','MAX') or nt==1)
        if base: k['base_values']=[float(x) for x in f32(nt)*.1]
        case(f'treereg_{pt}_{nt}_{agg}_{base}',[N('TreeEnsembleRegressor',['x'],['y'],n_targets=nt,post_transform=pt,aggregate_function=agg,**k)],{'x':f32(9,4)},['y'])
for pt in PT:
  for C,tg in ((2,[0]),(2,[1]),(2,[0,1]),(3,[0,1,2]),(1,[0])):
    for pos in (0,1):
      for base in (0,1,2):
        if base==2 and C!=2: continue
        k=trees('class',6,3,4,tg,pos,multi=len(tg)>1 and pos)
        if base: k['base_values']=[float(x) for x in f32(1 if base==1 and C==2 else C)*.1]
        for s in (0,1):
          if s and (pt!='NONE' or C==1): continue
          lab=dict(classlabels_strings=['a','bb','ccc'][:C]) if s else dict(classlabels_int64s=[5,7,9][:C])
          case(f'treecls_{pt}_{C}_{"".join(map(str,tg))}_{"pos" if pos else "neg"}_b{base}_{s}',[N('TreeEnsembleClassifier',['x'],['l','y'],post_transform=pt,**lab,**k)],{'x':f32(9,4)},['l','y'])
for pt in PT:
  for t in (1,3):
    case(f'linreg_{pt}_{t}',[N('LinearRegressor',['x'],['y'],coefficients=[float(v) for v in f32(4*t)*.1],intercepts=[float(abs(v)) for v in f32(t)*.1],targets=t,post_transform=pt)],{'x':f32(5,4)},['y'])
  for C,S in ((2,1),(2,2),(3,3),(1,1)):
   for s in (0,1):
    lab=dict(classlabels_strings=['a','bb','ccc'][:C]) if s else dict(classlabels_ints=[5,7,9][:C])
    case(f'lincls_{pt}_{C}_{S}_{s}',[N('LinearClassifier',['x'],['l','y'],coefficients=[float(v) for v in f32(4*S)*.3],intercepts=[float(v) for v in f32(S)*.1],post_transform=pt,multi_class=0,**lab)],{'x':f32(7,4)},['l','y'])
for kt in ('LINEAR','POLY','RBF','SIGMOID'):
  sv=f32(6,4)
  for oc in (0,1):
    case(f'svmreg_{kt}_{oc}',[N('SVMRegressor',['x'],['y'],kernel_type=kt,kernel_params=[.5,.1,3.],support_vectors=[float(v) for v in sv.ravel()],coefficients=[float(v) for v in f32(6)],rho=[.3],n_supports=6,one_class=oc)],{'x':f32(5,4)},['y'])
  for C in (2,3,4):
   for pr in (0,1):
    for pt in PT:
     if pt!='NONE' and kt!='RBF': continue
     for s in (0,1):
      P=C*(C-1)//2; per=[2]*C; V=2*C
      k=dict(prob_a=[float(-abs(v)) for v in f32(P)],prob_b=[float(v) for v in f32(P)*.1]) if pr else {}
      lab=dict(classlabels_strings=['a','bb','ccc','d'][:C]) if s else dict(classlabels_ints=[5,7,9,11][:C])
      case(f'svmcls_{kt}_{C}_{pr}_{pt}_{s}',[N('SVMClassifier',['x'],['l','y'],kernel_type=kt,kernel_params=[.5,.1,3.],support_vectors=[float(v) for v in f32(V*4)],coefficients=[float(v) for v in f32((C-1)*V)],rho=[float(v) for v in f32(P)],vectors_per_class=per,post_transform=pt,**lab,**k)],{'x':f32(9,4)},['l','y'],atol=1e-4,rtol=1e-3)
for C in (2,3):
  for pt in PT: case(f'svmlin_{C}_{pt}',[N('SVMClassifier',['x'],['l','y'],kernel_type='LINEAR',coefficients=[float(v) for v in f32(C*4)],rho=[.2],classlabels_ints=[5,7,9][:C],post_transform=pt)],{'x':f32(9,4)},['l','y'])
S=lambda *a:np.array(a,dtype=object)
for nm in ('MAX','L1','L2'):
  x=f32(4,3); x[1]=0; case(f'norm_{nm}',[N('Normalizer',['x'],['y'],norm=nm)],{'x':x},['y'])
  case(f'norm_{nm}_i',[N('Normalizer',['x'],['y'],norm=nm)],{'x':rng.integers(-5,5,(4,3))},['y'])
x=f32(4,3); x[0,1]=np.nan; case('imputer_nan',[N('Imputer',['x'],['y'],imputed_value_floats=[1.,2.,3.],replaced_value_float=float('nan'))],{'x':x},['y'])
case('imputer_int',[N('Imputer',['x'],['y'],imputed_value_int64s=[9],replaced_value_int64=2)],{'x':rng.integers(0,4,(4,3))},['y'])
for dt in (np.int64,np.float32,np.int32,np.float64): case(f'onehot_{dt.__name__}',[N('OneHotEncoder',['x'],['y'],cats_int64s=[3,1,2],zeros=1)],{'x':rng.integers(0,4,(4,3)).astype(dt)},['y'])
case('onehot_str',[N('OneHotEncoder',['x'],['y'],cats_strings=['a','b','c'],zeros=1)],{'x':S('b','z','a')},['y'])
case('catmap_s',[N('CategoryMapper',['x'],['y'],cats_int64s=[3,1],cats_strings=['a','b'],default_int64=-5)],{'x':S('b','z','a')},['y'])
case('catmap_i',[N('CategoryMapper',['x'],['y'],cats_int64s=[3,1],cats_strings=['a','b'],default_string='none')],{'x':np.array([[1,2,3]])},['y'])
case('labenc1_s',[N('LabelEncoder',['x'],['y'],classes_strings=['a','b','c'],default_int64=-5)],{'x':S('b','z','a')},['y'],opsets=(('',12),('ai.onnx.ml',1)))
case('labenc1_i',[N('LabelEncoder',['x'],['y'],classes_strings=['a','b','c'],default_string='zz')],{'x':np.array([0,2,7])},['y'],opsets=(('',12),('ai.onnx.ml',1)))
case('labenc2_ff',[N('LabelEncoder',['x'],['y'],keys_floats=[1.,float('nan')],values_floats=[5.,6.],default_float=9.)],{'x':np.array([1.,np.nan,4],np.float32)},['y'],opsets=(('',12),('ai.onnx.ml',2)))
case('labenc2_is',[N('LabelEncoder',['x'],['y'],keys_int64s=[1,2],values_strings=['one','two'])],{'x':np.array([1,2,4])},['y'],opsets=(('',12),('ai.onnx.ml',2)))
case('featvec',[N('FeatureVectorizer',['a','b'],['y'],inputdimensions=[3,2])],{'a':f32(2,3),'b':f32(2,2)},['y'])
case('featvec1',[N('FeatureVectorizer',['a','b'],['y'],inputdimensions=[3,2])],{'a':rng.integers(0,9,(2,3)),'b':rng.integers(0,9,(2,2))},['y'])
case('scaler',[N('Scaler',['a'],['y'],offset=[1.,2.,3.],scale=[.5,.25,2.])],{'a':f32(2,3)},['y'])
case('zipmap_i',[N('ZipMap',['a'],['y'],classlabels_int64s=[3,1,2])],{'a':f32(2,3)},['y'])
case('zipmap_s',[N('ZipMap',['a'],['y'],classlabels_strings=['x','y','z'])],{'a':f32(2,3)},['y'])
case('dictvec_s',[N('DictVectorizer',['m'],['y'],string_vocabulary=['a','b','c','d'])],{'m':{'b':2.5,'z':9.,'d':-1.}},['y'])
case('dictvec_i',[N('DictVectorizer',['m'],['y'],int64_vocabulary=[3,1,7])],{'m':{7:1.5,1:.25}},['y'])
for to,form,v in (('TO_FLOAT','DENSE',.5),('TO_FLOAT','SPARSE',.5),('TO_INT64','DENSE',3.7),('TO_STRING','DENSE',2.25),('TO_STRING','SPARSE',1e20)):
    case(f'castmap_{to[3:].lower()}_{form.lower()}',[N('CastMap',['m'],['y'],cast_to=to,map_form=form,max_map=6)],{'m':{4:v,1:v+1,2:-v}},['y'])
case('binarizer',[N('Binarizer',['a'],['y'],threshold=.3)],{'a':f32(2,3)},['y'])
case('afe1',[N('ArrayFeatureExtractor',['a','i'],['y'])],{'a':f32(5),'i':np.array([[1,3]])},['y'])

# ---- com.microsoft ----
M=lambda op,i,o,**k:h.make_node(op,i,o,domain='com.microsoft',**k)
O=(('',21),('com.microsoft',1))
def c(name,nodes,feeds,outs,**k): case(name,nodes if isinstance(nodes,list) else [nodes],feeds,outs,opsets=O,**k)
u8=lambda *s:rng.integers(0,256,s).astype(np.uint8); i8=lambda *s:rng.integers(-128,128,s).astype(np.int8)
F=lambda v:np.array(v,np.float32)
x=f32(2,5,8)
c('gelu',M('Gelu',['x'],['y']),{'x':x},['y']); c('biasgelu',M('BiasGelu',['x','b'],['y']),{'x':x,'b':f32(8)},['y'])
c('fastgelu',M('FastGelu',['x','b'],['y']),{'x':x,'b':f32(8)},['y']); c('quickgelu',M('QuickGelu',['x'],['y'],alpha=1.5),{'x':x},['y'])
for ta in (0,1):
  for tb in (0,1):
    c(f'fmm_{ta}{tb}',M('FusedMatMul',['a','b'],['y'],transA=ta,transB=tb,alpha=.5),{'a':f32(*( (2,4,3) if ta else (2,3,4))),'b':f32(*((2,5,4) if tb else (2,4,5)))},['y'])
for act,p in (('Relu',[]),('Tanh',[]),('Sigmoid',[]),('LeakyRelu',[.2]),('Clip',[-.5,.5]),('HardSigmoid',[.3,.4])):
  c('fconv_'+act,M('FusedConv',['x','w','b','z'],['y'],activation=act,pads=[1,1,1,1],**({'activation_params':p} if p else {})),{'x':f32(1,3,6,6),'w':f32(4,3,3,3),'b':f32(4),'z':f32(1,4,6,6)},['y'])
for act in ('Relu','LeakyRelu'): c('fgemm_'+act,M('FusedGemm',['a','b','c'],['y'],activation=act,transB=1,**({'activation_alpha':.3} if act=='LeakyRelu' else {})),{'a':f32(3,4),'b':f32(5,4),'c':f32(5)},['y'])
c('skipln',M('SkipLayerNormalization',['x','s','g','b','c'],['y','','','z'],epsilon=1e-5),{'x':x,'s':f32(2,5,8),'g':f32(8),'b':f32(8),'c':f32(8)},['y','z'])
c('skipln2',M('SkipLayerNormalization',['x','s','g','b'],['y'],epsilon=1e-5),{'x':x,'s':f32(1,5,8),'g':f32(8),'b':f32(8)},['y'])
c('skipsln',M('SkipSimplifiedLayerNormalization',['x','s','g','c'],['y','','','z'],epsilon=1e-5),{'x':x,'s':f32(2,5,8),'g':f32(8),'c':f32(8)},['y','z'])
case('sln',[h.make_node('SimplifiedLayerNormalization',['x','g'],['y'],epsilon=1e-5,axis=-1)],{'x':x,'g':f32(8)},['y'],opsets=O)
I=lambda hi,*s:rng.integers(0,hi,s).astype(np.int32)
c('embed',M('EmbedLayerNormalization',['i','s','w','p','e','g','b','m'],['y','k'],epsilon=1e-5),{'i':I(20,2,5),'s':I(2,2,5),'w':f32(20,8),'p':f32(7,8),'e':f32(2,8),'g':f32(8),'b':f32(8),'m':np.array([[1,1,1,0,0],[1,1,1,1,1]],np.int32)},['y','k'])
c('embed2',M('EmbedLayerNormalization',['i','','w','p','','g','b'],['y','k']),{'i':I(20,2,5),'w':f32(20,8),'p':f32(7,8),'g':f32(8),'b':f32(8)},['y','k'])
# attention
B,S,H,N=2,5,8,2
at={'x':f32(B,S,H),'w':f32(H,3*H),'b':f32(3*H)}
c('att',M('Attention',['x','w','b'],['y'],num_heads=N),at,['y'])
c('att_uni',M('Attention',['x','w','b'],['y'],num_heads=N,unidirectional=1),at,['y'])
c('att_m1',M('Attention',['x','w','b','m'],['y'],num_heads=N),{**at,'m':np.array([3,5],np.int32)},['y'])
c('att_m2',M('Attention',['x','w','b','m'],['y'],num_heads=N),{**at,'m':np.array([[1,1,1,0,0],[1,1,1,1,0]],np.int32)},['y'])
c('att_m3',M('Attention',['x','w','b','m'],['y'],num_heads=N),{**at,'m':I(2,B,S,S)},['y'])
c('att_past',M('Attention',['x','w','b','','p'],['y','q'],num_heads=N,unidirectional=1),{**at,'p':f32(2,B,N,3,H//N)},['y','q'])
c('att_bias',M('Attention',['x','w','b','','','a'],['y'],num_heads=N,scale=.3),{**at,'a':f32(B,N,S,S)},['y'])
c('att_sizes',M('Attention',['x','w','b'],['y'],num_heads=N,qkv_hidden_sizes=[4,4,8]),{'x':f32(B,S,H),'w':f32(H,16),'b':f32(16)},['y'])
mh={'q':f32(B,S,H),'k':f32(B,6,H),'v':f32(B,6,H)}
c('mha',M('MultiHeadAttention',['q','k','v'],['y'],num_heads=N),mh,['y'])
c('mha_b',M('MultiHeadAttention',['q','k','v','b'],['y'],num_heads=N,scale=.4),{**mh,'b':f32(3*H)},['y'])
c('mha_m1',M('MultiHeadAttention',['q','k','v','','m'],['y'],num_heads=N),{**mh,'m':np.array([3,6],np.int32)},['y'])
c('mha_m2',M('MultiHeadAttention',['q','k','v','','m'],['y'],num_heads=N),{**mh,'m':np.array([[1,1,1,0,0,1],[1,1,1,1,0,0]],np.int32)},['y'])
c('mha_ab',M('MultiHeadAttention',['q','k','v','','','a'],['y'],num_heads=N),{**mh,'a':f32(1,N,S,6)},['y'])
c('mha_past',M('MultiHeadAttention',['q','k','v','','','','pk','pv'],['y','nk','nv'],num_heads=N),{**mh,'pk':f32(B,N,3,H//N),'pv':f32(B,N,3,H//N)},['y','nk','nv'])
c('mha_uni',M('MultiHeadAttention',['q','k','v'],['y'],num_heads=N,unidirectional=1),{'q':f32(B,S,H),'k':f32(B,S,H),'v':f32(B,S,H)},['y'])
c('mha_4d',M('MultiHeadAttention',['q','k','v'],['y'],num_heads=N),{'q':f32(B,S,H),'k':f32(B,N,6,H//N),'v':f32(B,N,6,H//N)},['y'])
cs=lambda n,d:(np.cos(f32(n,d)),np.sin(f32(n,d)))
c_,s_=cs(20,4)
for it in (0,1):
  c(f'rot_{it}',M('RotaryEmbedding',['x','p','c','s'],['y'],interleaved=it),{'x':f32(2,5,16),'p':np.array([[0,1,2,3,4],[4,5,6,7,8]]),'c':c_,'s':s_},['y'])
  c(f'rot4_{it}',M('RotaryEmbedding',['x','p','c','s'],['y'],interleaved=it),{'x':f32(2,3,5,8),'p':np.array([3]),'c':c_,'s':s_},['y'])
c_,s_=cs(20,2)
c('rot_part',M('RotaryEmbedding',['x','p','c','s'],['y'],rotary_embedding_dim=4,num_heads=2),{'x':f32(2,5,16),'p':np.array([3]),'c':c_,'s':s_},['y'])
c_,s_=cs(20,4)
def gqa(name,B,S,P,nh,kv,D,rot=0,packed=0,seql=None,**k):
  T_=P+S
  f={'q':f32(B,S,(nh+2*kv if packed else nh)*D)}
  if not packed: f['k']=f32(B,S,kv*D); f['v']=f32(B,S,kv*D)
  f['pk']=f32(B,kv,P,D); f['pv']=f32(B,kv,P,D); f['sl']=np.array(seql if seql else [T_-1]*B,np.int32); f['t']=np.array(T_,np.int32)
  ins=['q','' if packed else 'k','' if packed else 'v','pk','pv','sl','t']
  if rot: f['c'],f['s']=cs(32,D//2); ins+=['c','s']
  c(name,M('GroupQueryAttention',ins,['y','nk','nv'],num_heads=nh,kv_num_heads=kv,do_rotary=rot,**k),f,['y','nk','nv'])
gqa('gqa_prompt',2,5,0,4,2,16); gqa('gqa_prompt_rot',2,5,0,4,2,16,rot=1); gqa('gqa_gen',2,1,4,4,2,16); gqa('gqa_gen_rot',2,1,4,4,2,16,rot=1,rotary_interleaved=1)
gqa('gqa_packed',1,5,0,4,2,16,rot=1,packed=1); gqa('gqa_window',1,6,0,4,2,16,local_window_size=2); gqa('gqa_softcap',1,6,0,4,2,16,softcap=5.0,scale=.2)
# quantised
def nb(name,N_,K_,bs,bits=4,zp=1,bias=0):
  nbk=(K_+bs-1)//bs
  f={'a':f32(3,K_)}; b=u8(N_,nbk,bs*bits//8); sc=(np.abs(f32(N_*nbk))*.1).astype(np.float32)
  ins=['a','b','s']; init=[nh.from_array(b,'b'),nh.from_array(sc,'s')]
  if zp: ins.append('z'); init.append(nh.from_array(u8(N_*((nbk*bits+7)//8)),'z'))
  if bias: ins+= ([''] if not zp else [])+['','c']; init.append(nh.from_array(f32(N_),'c'))
  c(name,M('MatMulNBits',ins,['y'],N=N_,K=K_,block_size=bs,bits=bits),f,['y'],inits=init,atol=1e-4)
nb('nb4',8,32,16); nb('nb4_nozp',8,32,16,zp=0); nb('nb4_odd',8,48,32); nb('nb8',8,32,16,bits=8); nb('nb4_bias',8,64,32,bias=1)
qz=lambda v:np.array(v,np.uint8)
for op in ('QLinearAdd','QLinearMul'):
  c(op,M(op,['a','as','az','b','bs','bz','cs','cz'],['y']),{'a':u8(3,4),'as':F(.02),'az':qz(120),'b':u8(4),'bs':F(.03),'bz':qz(99),'cs':F(.05),'cz':qz(128)},['y'])
  c(op+'_i8',M(op,['a','as','az','b','bs','bz','cs','cz'],['y']),{'a':i8(3,4),'as':F(.02),'az':np.array(3,np.int8),'b':i8(3,4),'bs':F(.03),'bz':np.array(-7,np.int8),'cs':F(.05),'cz':np.array(5,np.int8)},['y'])
c('QLinearConcat',M('QLinearConcat',['ys','yz','a','as','az','b','bs','bz'],['y'],axis=1),{'ys':F(.04),'yz':qz(100),'a':u8(3,4),'as':F(.02),'az':qz(120),'b':u8(3,2),'bs':F(.03),'bz':qz(99)},['y'])
q5={'x':u8(1,3,6,6),'xs':F(.02),'xz':qz(120),'ys':F(.01),'yz':qz(99)}
c('QLinearAveragePool',M('QLinearAveragePool',list(q5),['y'],kernel_shape=[3,3],pads=[1,1,1,1],strides=[2,2]),q5,['y'])
c('QLinearGlobalAveragePool',M('QLinearGlobalAveragePool',list(q5),['y']),q5,['y'])
c('QLinearGlobalAveragePool_last',M('QLinearGlobalAveragePool',list(q5),['y'],channels_last=1),q5,['y'])
c('QLinearLeakyRelu',M('QLinearLeakyRelu',list(q5),['y'],alpha=.2),q5,['y']); c('QLinearSigmoid',M('QLinearSigmoid',list(q5),['y']),{**q5,'ys':F(1/256),'yz':qz(0)},['y'])
c('QLinearSoftmax',M('QLinearSoftmax',list(q5),['y'],axis=-1,opset=13),{**q5,'ys':F(1/256),'yz':qz(0)},['y'])
c('QLinearSoftmax12',M('QLinearSoftmax',list(q5),['y'],axis=2,opset=12),{**q5,'ys':F(1/256),'yz':qz(0)},['y'])
for name,each,transposed,sums,result in (('QGemm',0,0,1,1),('QGemm_columns',7,1,1,1),('QGemm_float',7,0,1,0),('QGemm_no_sums',0,1,0,1)):
  g={'a':u8(5,19),'as':F(.02),'az':qz(117),'b':(i8(7,19) if transposed else i8(19,7))//4,'bs':f32(7)**2*.01+.01 if each else F(.02),'bz':np.zeros(each or (),np.int8)}
  if sums: g['c']=rng.integers(-5000,5000,7).astype(np.int32)
  if result: g.update(ys=F(.5),yz=qz(130))
  names=['a','as','az','b','bs','bz','c' if sums else '']+(['ys','yz'] if result else [])
  c(name,M('QGemm',names,['y'],transB=transposed),g,['y'])
c('MatMulIntegerToFloat',M('MatMulIntegerToFloat',['a','b','as','bs','az','bz','c'],['y']),{'a':u8(3,4),'b':u8(4,5),'as':F(.02),'bs':F(.03),'az':qz(120),'bz':qz(99),'c':f32(5)},['y'])
c('DynamicQuantizeMatMul',M('DynamicQuantizeMatMul',['a','b','bs','bz','c'],['y']),{'a':f32(3,4),'b':u8(4,5),'bs':F(.03),'bz':qz(99),'c':f32(5)},['y'])
c('DynamicQuantizeMatMul_i8',M('DynamicQuantizeMatMul',['a','b','bs'],['y']),{'a':f32(3,4),'b':i8(4,5),'bs':(np.abs(f32(5))*.1).astype(np.float32)},['y'])
c('QAttention',M('QAttention',['x','w','b','xs','ws','m','xz','wz'],['y'],num_heads=N),{'x':u8(B,S,H),'w':u8(H,3*H),'b':f32(3*H),'xs':F(.02),'ws':F(.02),'m':np.array([3,5],np.int32),'xz':qz(120),'wz':qz(128)},['y'])
W=i8(1,4,12); R=i8(1,3,12)
c('DynamicQuantizeLSTM',M('DynamicQuantizeLSTM',['x','w','r','b','','','','','ws','wz','rs','rz'],['y','hh','cc'],hidden_size=3),{'x':f32(5,2,4),'b':f32(1,24)},['y','hh','cc'],inits=[nh.from_array(W,'w'),nh.from_array(R,'r'),nh.from_array(F([.01]),'ws'),nh.from_array(np.array([2],np.int8),'wz'),nh.from_array(F([.01]),'rs'),nh.from_array(np.array([-3],np.int8),'rz')],atol=1e-5,rtol=1e-4)
c('Pad',M('Pad',['x','p','v'],['y'],mode='constant'),{'x':f32(2,3),'p':np.array([1,0,0,2]),'v':F([.5])},['y'],)
c('Inverse',M('Inverse',['x'],['y']),{'x':f32(2,4,4)+3*np.eye(4,dtype=np.float32)},['y'])
c('GatherND',M('GatherND',['x','i'],['y']),{'x':f32(3,4,2),'i':np.array([[0,1],[2,3]])},['y'])
c('CropAndResize',M('CropAndResize',['x','r','b','s'],['y'],extrapolation_value=.7),{'x':f32(2,3,8,9),'r':F([[.1,.2,.8,.9],[-.2,0,1.2,.5]]),'b':np.array([1,0],np.int32),},['y'],inits=[nh.from_array(np.array([4,5],np.int32),'s')])

# ---- local functions: nested, with attribute defaults, overloads and references to attributes ----
def model_case(name,m,feeds):
    write_model(name,m,feeds,ort.InferenceSession(m.SerializeToString()).run(None,feeds))
def write_model(name,m,feeds,r):
    d=f'{out}/{name}'; os.makedirs(d+'/test_data_set_0'); open(d+'/model.onnx','wb').write(m.SerializeToString())
    for i,v in enumerate(feeds.values()): open(f'{d}/test_data_set_0/input_{i}.pb','wb').write(nh.from_array(v).SerializeToString())
    for i,v in enumerate(r): open(f'{d}/test_data_set_0/output_{i}.pb','wb').write(nh.from_array(v).SerializeToString())
ops21=[h.make_opsetid('',21),h.make_opsetid('local',1)]
def ref(node,attr,of,kind):
    a=onnx.AttributeProto(name=attr,ref_attr_name=of,type=kind); node.attribute.append(a); return node
leaky=h.make_function('local','leak',['x'],['y'],[ref(h.make_node('LeakyRelu',['x'],['y']),'alpha','slope',onnx.AttributeProto.FLOAT)],ops21,attribute_protos=[h.make_attribute('slope',.25)])
twice=h.make_function('local','twice',['x'],['y'],[ref(h.make_node('leak',['x'],['t'],domain='local'),'slope','s',onnx.AttributeProto.FLOAT),h.make_node('leak',['t'],['u'],domain='local'),h.make_node('Add',['t','u'],['y'])],ops21,['s'])
io=lambda:([h.make_tensor_value_info('x',T.FLOAT,[2,3])],[h.make_tensor_value_info('y',T.FLOAT,[2,3])])
model_case('function_nested',h.make_model(h.make_graph([h.make_node('twice',['x'],['y'],domain='local',s=.5)],'g',*io()),opset_imports=ops21,functions=[leaky,twice],ir_version=10),{'x':f32(2,3)})
one=h.make_function('local','f',['x'],['y'],[h.make_node('Neg',['x'],['y'])],ops21,overload='a')
two=h.make_function('local','f',['x'],['y'],[h.make_node('Exp',['x'],['y'])],ops21,overload='b')
model_case('function_overload',h.make_model(h.make_graph([h.make_node('f',['x'],['t'],domain='local',overload='a'),h.make_node('f',['t'],['y'],domain='local',overload='b')],'g',*io()),opset_imports=ops21,functions=[one,two],ir_version=10),{'x':f32(2,3)})

# ---- what exporters write beside the specification's text ----
c('STFT_real_rank2',h.make_node('STFT',['x','step','w'],['y']),{'x':f32(2,64)},['y'],inits=[nh.from_array(np.array(8),'step'),nh.from_array(np.hanning(16).astype(np.float32),'w')])
W,R=i8(2,4,12),i8(2,3,12)
c('DynamicQuantizeLSTM_directions',M('DynamicQuantizeLSTM',['x','w','r','b','','','','','ws','wz','rs','rz'],['y','hh','cc'],hidden_size=3,direction='bidirectional'),{'x':f32(5,2,4),'b':f32(2,24)},['y','hh','cc'],inits=[nh.from_array(W,'w'),nh.from_array(R,'r'),nh.from_array(F([.01,.02]),'ws'),nh.from_array(np.array([2,-1],np.int8),'wz'),nh.from_array(F([.01,.015]),'rs'),nh.from_array(np.array([-3,4],np.int8),'rz')],atol=1e-5,rtol=1e-4)
M=lambda op,i,o,**k:h.make_node(op,i,o,domain='com.microsoft',**k)
MS=(('',17),('com.microsoft',1))
words=np.array([["the cat, sat","a  b"],["","über straße x"]],dtype=object); odd=np.array(["ab abc","éa,b;c d",""],dtype=object)
for name,x,a in [('expression_marked',words,dict(tokenexp='[a-z]+',mark=1,mincharnum=2,pad_value='')),('longest',odd,dict(tokenexp='a|ab|abc|,',mark=0,mincharnum=1,pad_value='p')),
                 ('separators',odd,dict(separators=['[,;]',' +'],mark=1,mincharnum=1,pad_value='#')),('short',odd,dict(separators=['b'],mark=0,mincharnum=2,pad_value='#')),
                 ('empty_match',odd,dict(separators=['b*'],mark=0,mincharnum=1,pad_value='#')),('characters',words,dict(separators=[''],mark=0,mincharnum=1,pad_value='')),
                 ('nothing',np.array(["",""],dtype=object),dict(tokenexp='[a-z]+',mark=1,mincharnum=1,pad_value='.'))]:
    case('Tokenizer_'+name,[M('Tokenizer',['x'],['y'],**a)],{'x':x},['y'],opsets=MS)
for name,x in [('strings',np.array(["","a","über","abcdefg"],dtype=object)),('ints',np.array([0,-7,9],np.int64)),('floats',np.array([0.,-1.5],np.float32))]:
    case('MurmurHash3_'+name,[M('MurmurHash3',['x'],['y'],seed=3),M('MurmurHash3',['x'],['z'],positive=0)],{'x':x},['y','z'],opsets=MS)
for metric in ('euclidean','sqeuclidean'):
    case('CDist_'+metric,[M('CDist',['a','b'],['y'],metric=metric)],{'a':f32(4,3),'b':f32(5,3)},['y'],opsets=MS)
case('TreeEnsembleRegressor_repeated',[h.make_node('TreeEnsembleRegressor',['x'],['y'],domain='ai.onnx.ml',n_targets=1,nodes_treeids=[0]*3,nodes_nodeids=[0,1,2],nodes_featureids=[0]*3,nodes_values=[0.]*3,nodes_modes=['BRANCH_LEQ','LEAF','LEAF'],nodes_truenodeids=[1,0,0],
     nodes_falsenodeids=[2,0,0],target_treeids=[0]*4,target_nodeids=[1,1,2,2],target_ids=[0]*4,target_weights=[1.,1.,2.,2.])],{'x':f32(6,1)},['y'],opsets=(('ai.onnx.ml',1),('',17)))

# ---- tables and weights of few bits, and operators that the standard has too ----
rng=np.random.default_rng(17)
words4=np.array([[1,0],[2,5]])
tables={'bytes4':(u8(6,32),dict(bits=4),u8(6,2),(6,4)),'bytes4_plain':(u8(6,32),dict(bits=4),None,(6,4)),'bytes8':(u8(6,32),dict(bits=8),u8(6,2),(6,2)),'bytes8_plain':(u8(6,32),dict(bits=8),None,(6,2))}
for name,(data,more,zero,scales) in tables.items():
    inits=[nh.from_array(data,'d'),nh.from_array((np.abs(f32(*scales))*.1).astype(np.float32),'s')]+([nh.from_array(zero,'z')] if zero is not None else [])
    case('GatherBlockQuantized_'+name,[M('GatherBlockQuantized',['d','i','s']+(['z'] if zero is not None else []),['y'],gather_axis=0,quantize_axis=1,block_size=16,**more)],{'i':words4},['y'],opsets=MS,inits=inits)
for name,kind,low,high in [('int4',T.INT4,-8,8),('uint4',T.UINT4,0,16)]:
    values=lambda *d:h.make_tensor('d',kind,d,rng.integers(low,high,d).ravel().tolist())
    for at,blocked,dims,blocks in [(0,1,(5,32),(5,2)),(1,0,(32,5),(2,5)),(0,2,(4,3,32),(4,3,2))]:
        d,z=values(*dims),values(*blocks); z.name='z'
        case('GatherBlockQuantized_%s_%d%d'%(name,at,blocked),[M('GatherBlockQuantized',['d','i','s','z'],['y'],gather_axis=at,quantize_axis=blocked,block_size=16)],{'i':np.array([[1,0],[2,-1]])},['y'],opsets=MS,
             inits=[d,z,nh.from_array((np.abs(f32(*blocks))*.1).astype(np.float32),'s')])
for kind in (0,1):
    case('MatMulBnb4_%d'%kind,[M('MatMulBnb4',['a','w','m'],['y'],N=7,K=48,block_size=16,quant_type=kind)],{'a':f32(2,3,48)},['y'],opsets=MS,inits=[nh.from_array(u8(7*24),'w'),nh.from_array(np.abs(f32(21)),'m')])
case('QLinearWhere',[M('QLinearWhere',['c','a','as','az','b','bs','bz','ys','yz'],['y'])],{'c':rng.random((3,4))>.5,'a':u8(3,4),'as':F(.02),'az':qz(120),'b':u8(3,1),'bs':F(.03),'bz':qz(99),'ys':F(.04),'yz':qz(110)},['y'],opsets=MS)
for last in (0,1):
    case('QLinearConv_last%d'%last,[M('QLinearConv',['x','xs','xz','w','ws','wz','ys','yz','b'],['y'],channels_last=last,group=2,pads=[1,0,1,2],strides=[2,1],kernel_shape=[3,3])],
         {'x':u8(2,7,6,4) if last else u8(2,4,7,6),'xs':F(.02),'xz':qz(120),'w':u8(6,2,3,3),'ws':F(.01),'wz':qz(128),'ys':F(.05),'yz':qz(130),'b':rng.integers(-900,900,6).astype(np.int32)},['y'],opsets=MS)
case('NhwcMaxPool',[M('NhwcMaxPool',['x'],['y'],kernel_shape=[3,2],pads=[1,0,1,1],strides=[2,2])],{'x':u8(2,7,6,5)},['y'],opsets=MS)
case('Trilu_contrib',[M('Trilu',['x','k'],['y'],upper=0)],{'x':f32(2,4,5),'k':np.array(1)},['y'],opsets=MS)
case('Range_contrib',[M('Range',['a','b'],['y']),M('Range',['a','b','c'],['z'])],{'a':np.array([2]),'b':np.array([9]),'c':np.array([3])},['y','z'],opsets=MS)
case('ExpandDims',[M('ExpandDims',['x','a'],['y'])],{'x':f32(2,3)},['y'],opsets=MS,inits=[nh.from_array(np.array(-1,np.int32),'a')])
for mode in ('bilinear','nearest','bicubic'):
    case('GridSample_contrib_'+mode,[M('GridSample',['x','g'],['y'],mode=mode,padding_mode='border',align_corners=1)],{'x':f32(2,3,5,6),'g':f32(2,4,3,2)},['y'],opsets=MS)
case('Unique_contrib',[M('Unique',['x'],['y','i','c'])],{'x':np.array([2,1,1,3,2,4.5],np.float32)},['y','i','c'],opsets=MS)
model_case('contrib_not_imported',h.make_model(h.make_graph([M('FastGelu',['x'],['y'])],'g',*io()),opset_imports=[h.make_opsetid('',17)],ir_version=10),{'x':f32(2,3)})
for name,t,low,xz,yz in (('u8',np.uint8,0,120,30),('i8',np.int8,-128,3,-128)): # 1 / scale is not whole
    x=rng.integers(low,low+256,(40,9)).astype(t)
    case('QLinearSoftmax_steps_'+name,[M('QLinearSoftmax',['x','xs','xz','ys','yz'],['y'],axis=-1,opset=13)],{'x':x,'xs':F(.03),'xz':np.array(xz,t),'ys':np.array(1/255,np.float32),'yz':np.array(yz,t)},['y'],opsets=MS)
for dims in ((5,),(4,5),(2,3,4),(2,3,2,2,2)): # the default axes are 0, 2 and 3, of these those that there are
    case('MeanVarianceNormalization_rank%d'%len(dims),[h.make_node('MeanVarianceNormalization',['x'],['y'])],{'x':f32(*dims)},['y'],opsets=(('',13),))
case('MeanVarianceNormalization_large',[h.make_node('MeanVarianceNormalization',['x'],['y'])],{'x':(np.random.default_rng(1).standard_normal((2,3,4,5))*2e4).clip(-6e4,6e4).astype(np.float16)},['y'],rtol=2e-3,atol=1e-3)
case('GRU_lengths',[h.make_node('GRU',['x','w','r','','l'],['y','z'],hidden_size=4,direction='bidirectional')],{'x':f32(5,3,2),'l':np.array([5,0,3],np.int32)},['y','z'],opsets=(('',14),),
     inits=[nh.from_array(f32(2,12,2),'w'),nh.from_array(f32(2,12,4),'r')])

# ---- recurrent layers: peepholes, and nets of tanh of one unit to several parts of weights ----
rng=np.random.default_rng(59)
def layer(name,op,gates,hidden,inputs,steps,batch,directions=1,ins='',more=(),feeds={},**k): # ins: names of operands 3 and up
    way={} if directions==1 else {'direction':'bidirectional'}
    of={'w':f32(directions,gates*hidden,inputs)*.3,'r':f32(directions,gates*hidden,hidden)*.3,'b':f32(directions,2*gates*hidden)*.3,'p':f32(directions,3*hidden)*.5}
    outs=['y','h','c'][:3 if op=='LSTM' else 2]
    case(name,[h.make_node(op,['x','w','r']+[i if i!='-' else '' for i in ins],outs,hidden_size=hidden,**way,**k)],{'x':f32(steps,batch,inputs),**feeds},outs,opsets=(('',14),),
         inits=[nh.from_array(of[i],i) for i in 'wrbp' if i in 'wr' or i in ins])
layer('LSTM_peepholes','LSTM',4,25,9,7,1,ins='b-ijp',feeds={'i':f32(1,1,25),'j':f32(1,1,25)})
layer('LSTM_peepholes_directions','LSTM',4,17,6,6,5,2,ins='bl--p',feeds={'l':np.array([6,0,3,5,1],np.int32)})
layer('LSTM_peepholes_relu','LSTM',4,5,3,5,2,2,ins='-l--p',feeds={'l':np.array([5,2],np.int32)},activations=['Sigmoid','Relu','Tanh']*2)
layer('RNN_wide','RNN',1,150,8,5,3,2,ins='bli',feeds={'l':np.array([5,2,1],np.int32),'i':f32(2,3,150)})
layer('RNN_narrow','RNN',1,3,4,6,1,ins='b')
for op,gates in (('LSTM',4),('GRU',3),('RNN',1)):
    layer(op+'_no_steps',op,gates,6,5,4,3,2,ins='bli'+('j' if op=='LSTM' else ''),feeds={'l':np.array([2,0,4],np.int32),**{k:f32(2,3,6) for k in ('ij' if op=='LSTM' else 'i')}})

# ---- gates, normalisations of parts of a row, and others of com.microsoft ----
rng=np.random.default_rng(18)
case('ScaledSiLU',[M('ScaledSiLU',['x'],['y'],alpha=1.7),M('ScaledSiLU',['x','s'],['z'])],{'x':f32(3,7),'s':np.array(-.6,np.float16)},['y','z'],opsets=MS)
case('GatedAdd',[M('GatedAdd',['x','y','g'],['z'])],{'x':f32(2,3,7),'y':f32(2,3,7),'g':f32(2,3,1)},['z'],opsets=MS)
for activation in ('silu','sigmoid'):
    case('GatedRMSNorm_'+activation,[M('GatedRMSNorm',['x','s','g'],['y'],activation=activation,epsilon=.01)],{'x':f32(2,3,35),'s':f32(7),'g':f32(2,3,35)},['y'],opsets=MS)
case('GatedRMSNorm_f16',[M('GatedRMSNorm',['x','s','g'],['y'])],{k:f32(*d).astype(np.float16) for k,d in (('x',(2,6)),('s',(6,)),('g',(2,6)))},['y'],opsets=MS,rtol=2e-3)
for name,x,scale,branches in (('grouped',(2,3,5),(3,5),0),('all',(2,3,5),(15,),0),('flat',(2,15),(5,),3),('no_scale',(2,15),(),3)):
    case('BranchwiseRMSNorm_'+name,[M('BranchwiseRMSNorm',['x']+(['s'] if scale else []),['y'],num_branches=branches)],{'x':f32(*x),**({'s':f32(*scale)} if scale else {})},['y'],opsets=MS)
case('LinearAttentionGate',[M('LinearAttentionGate',['a','d','s','b'],['y','z'])],{'a':f32(2,3,5)*4,'d':f32(5),'s':f32(5),'b':f32(2,3,5)},['y','z'],opsets=MS)
case('UnfoldTensor',[M('UnfoldTensor',['x'],['y'],dim=1,size=3,step=2),M('UnfoldTensor',['x'],['z'],size=4)],{'x':f32(2,8,4)},['y','z'],opsets=MS)
case('MatMulInteger16',[M('MatMulInteger16',['a','b'],['y'])],{'a':rng.integers(-32768,32768,(2,3,70)).astype(np.int16),'b':rng.integers(-32768,32768,(70,5)).astype(np.int16)},['y'],opsets=MS)
A=lambda qh,kh,rule,**k:M('LinearAttention',['q','k','v','p','d','b'],['y','s'],q_num_heads=qh,kv_num_heads=kh,update_rule=rule,**k)
for name,qh,kh,rule in (('queries',4,2,'gated_delta'),('keys',2,4,'gated_delta'),('delta',2,2,'delta')):
    case('LinearAttention_'+name,[A(qh,kh,rule)],{'q':f32(2,3,qh*4),'k':f32(2,3,kh*4)*.5,'v':f32(2,3,kh*5),'p':f32(2,kh,4,5),'d':-np.abs(f32(2,3,kh*4)),'b':np.abs(f32(2,3,kh))},['y','s'],opsets=MS)
for name,x,past,k in (('dilated',(2,6,5),(2,6,6),dict(dilation=2)),('last',(2,5,3,2),(2,3,3,2),dict(channels_last=1,activation='silu')),('last_dilated',(2,5,6),(2,9,6),dict(channels_last=1,dilation=3))):
    case('CausalConvWithState_'+name,[M('CausalConvWithState',['x','w','b','p'],['y','s'],**k)],{'x':f32(*x),'p':f32(*past)},['y','s'],opsets=MS,inits=[nh.from_array(f32(6,1,4),'w'),nh.from_array(f32(6),'b')])
for size in (1,3,12):
    case('NGramRepeatBlock_%d'%size,[M('NGramRepeatBlock',['i','s'],['y'],ngram_size=size)],{'i':rng.integers(0,3,(2,11)),'s':f32(2,7)},['y'],opsets=MS)

# ---- mixtures of experts, streams of branches ----
rng=np.random.default_rng(19)
moe=lambda gated:[nh.from_array(f32(*d),n) for n,d in (('w1',(3,10 if gated else 5,6)),('b1',(3,10 if gated else 5)),('w2',(3,6,5)),('b2',(3,6)))]
case('MoE_swiglu',[M('MoE',['x','p','w1','b1','w2','b2'],['y'],k=2,activation_type='swiglu',swiglu_fusion=1,normalize_routing_weights=1,activation_alpha=1.7,activation_beta=1.,swiglu_limit=.8)],{'x':f32(2,4,6),'p':f32(8,3)},['y'],opsets=MS,inits=moe(True))
case('MoE_gelu',[M('MoE',['x','p','w1','','w2'],['y'],activation_type='gelu')],{'x':f32(4,6),'p':f32(4,3)},['y'],opsets=MS,inits=moe(False)[::2])
for name,bits,block in (('blocks',4,16),('columns',8,0)):
    layer=lambda i,columns,k:[nh.from_array(u8(3,columns,k*bits//8),'w'+i),nh.from_array(np.abs(f32(3,columns,*([k//block] if block else [])))*np.float32(.02),'s'+i),nh.from_array(u8(3,columns,1) if block else u8(3,columns),'z'+i)]
    case('QMoE_'+name,[M('QMoE',['x','p','w1','s1','','w2','s2','','','','','z1','z2']+(['','r'] if block else []),['y'],k=2,activation_type='silu',expert_weight_bits=bits,**(dict(block_size=block) if block else {}))],
         {'x':f32(5,32),'p':f32(5,3),**({'r':np.abs(f32(5,3))} if block else {})},['y'],opsets=MS,inits=layer('1',16,32)+layer('2',32,16))
case('MoEGroupRouter',[M('MoEGroupRouter',['x','b'],['y'],n_group=4,topk_group=2,top_k=3,router_sentinel=-9.),M('MoEGroupRouter',['x','b'],['','s','w'],top_k=1)],{'x':f32(2,3,8),'b':f32(8)},['y','s','w'],opsets=MS)
case('HyperConnection',[M('HyperConnectionPreMix',['x','g'],['t'],reduction_scale=.5),M('HyperConnectionPostMix',['x','t','h','m'],['y']),M('HyperConnectionPreMix',['f','f'],['z'],num_branches=3)],
     {'x':f32(2,3,4),'g':f32(2,3),'h':f32(2,3,4),'m':f32(2,3,3),'f':f32(2,6)},['y','z'],opsets=MS)
case('EngramGate',[M('EngramGate',['k','q','v','a','b','c'],['y','z'])],{'k':f32(2,2,3,5),'q':f32(2,2,3,5),'v':f32(2,2,5),'a':f32(3,5),'b':f32(3,5),'c':f32(3,5)},['y','z'],opsets=MS)

# ---- decoders, and tokens of several requests in one row ----
rng=np.random.default_rng(20)
I=lambda *v:np.array(v,np.int32)
for name,section,k in (('blocks',[2,1,1],dict(num_heads=2)),('turns',[1,1,2],dict(mrope_layout=1,interleaved=1,num_heads=2,rotary_embedding_dim=8))):
    case('MRotaryEmbedding_'+name,[M('MRotaryEmbedding',['x','p','c','s'],['y'],mrope_section=section,**k)],{'x':f32(2,3,20 if k.get('mrope_layout') else 16),'p':rng.integers(0,7,(3,2,3))},['y'],opsets=MS,inits=[nh.from_array(f32(7,4),'c'),nh.from_array(f32(7,4),'s')])
decoder=lambda ins,outs,**k:[M('DecoderMaskedMultiHeadAttention',ins,outs,num_heads=2,**k)]
case('DecoderMaskedMultiHeadAttention_cross',decoder(['q','k','v','m','','','','','','','b'],['y'],scale=.4),{'q':f32(2,1,8),'k':f32(2,2,5,4),'v':f32(2,2,5,4),'m':I([1,1,0,1,1],[0,1,1,0,1])},['y'],opsets=MS,inits=[nh.from_array(f32(24),'b')])
case('DecoderMaskedMultiHeadAttention_beams',decoder(['q','k','v','','a','pk','pv','n','w','i','b'],['y','nk','nv'],past_present_share_buffer=1),
     {'q':f32(4,1,8),'k':f32(4,1,8),'v':f32(4,1,8),'a':f32(1,2,1,4),'pk':f32(4,2,6,4),'pv':f32(4,2,6,4),'n':I(3),'w':I(2),'i':rng.integers(0,2,(2,2,6)).astype(np.int32)},['y','nk','nv'],opsets=MS,inits=[nh.from_array(f32(24),'b')])
gates=lambda *d:-np.abs(f32(*d))
case('GatedDeltaNet_requests',[M('GatedDeltaNet',['q','k','v','c','d','b','s','a','t'],['y','z'],gate_activation='softplus',beta_activation='sigmoid',qk_l2_norm=1)],
     {'q':f32(7,2,4),'k':f32(7,2,4),'v':f32(7,4,3),'c':I(0,2,6,7),'d':gates(7,4),'b':f32(7,4),'s':f32(3,4,3,4),'a':f32(4),'t':f32(4)},['y','z'],opsets=MS)
case('GatedDeltaNet_packed',[M('GatedDeltaNet',['q','','','','d','','s'],['y','z'],update_rule='gated')],{'q':f32(2,3,22),'d':gates(2,3,2,4),'s':f32(2,2,3,4)},['y','z'],opsets=MS)
case('VarlenCausalConvWithState',[M('VarlenCausalConvWithState',['x','w','c','b','s'],['y','z'],activation='silu',dilation=2)],{'x':f32(7,3),'c':I(0,1,5,7),'s':f32(3,3,4)},['y','z'],opsets=MS,inits=[nh.from_array(f32(3,1,3),'w'),nh.from_array(f32(3),'b')])

# ---- hashes of tokens, pads that are an operand, tables of 8 bits ----
rng=np.random.default_rng(21)
tokens=rng.integers(0,4,(2,9))
case('NGramHashMapping',[M('NGramHashMapping',['x','m','v','p','o','e','s'],['y','z'],max_ngram_size=3,n_head_per_ngram=2,pad_id=7,reset_on_eos=1),M('NGramHashMapping',['x','m','v'],['w'],max_ngram_size=3,n_head_per_ngram=2,pad_id=7)],
     {'x':tokens,'p':rng.integers(0,4,(2,2)),'s':np.sort(rng.integers(0,3,(2,9)),1).astype(np.int32)},['y','z','w'],opsets=MS,inits=[nh.from_array(np.array(v),k) for k,v in (('m',[2**61+1,5,-7]),('v',[97,101,103,107]),('o',[0,100,200,300]),('e',1))])
case('ConvTransposeWithDynamicPads',[M('ConvTransposeWithDynamicPads',['x','w','p','b'],['y'],strides=[2,3],output_padding=[1,0],group=2),M('ConvTransposeWithDynamicPads',['x','w','q'],['z'],strides=[2,1],group=2)],{'x':f32(2,4,3,5),'p':np.array([1,0,2,1])},['y','z'],opsets=MS,
     inits=[nh.from_array(f32(4,1,3,3),'w'),nh.from_array(f32(2),'b'),nh.from_array(np.array([0,1,1,2]),'q')])
for name,segments in (('',True),('_plain',False)):
    q=['w','p','s' if segments else '','g','b']
    inits=[nh.from_array(u8(*d),k) for k,d in zip('wpsgb',((5,6),(7,6),(2,6),(6,),(6,)))]+[nh.from_array(F(.02+.01*i),k+'s') for i,k in enumerate('wpsgb')]+[nh.from_array(u8(),k+'z') for k in 'wpsgb']
    case('QEmbedLayerNormalization'+name,[M('QEmbedLayerNormalization',['i','t' if segments else '',*q,'m' if segments else '',*[k and k+'s' for k in q],*[k and k+'z' for k in q]],['y','n'])],
         {'i':rng.integers(0,5,(2,4)).astype(np.int32),**({'t':rng.integers(0,2,(2,4)).astype(np.int32),'m':rng.integers(0,2,(2,4)).astype(np.int32)} if segments else {})},['y','n'],opsets=MS,inits=inits)
case('SampleOp',[M('SampleOp',['x'],['y'])],{'x':f32(2,3)},['y'],opsets=MS)

# ---- layouts of blocks ----
rng=np.random.default_rng(22)
for name,steps,total,k in (('prompt',18,18,dict(scale=.3)),('step',1,30,dict(do_rotary=1))):
    case('SparseAttention_'+name,[M('SparseAttention',['q','k','v','pk','pv','r','c','t','l']+(['cos','sin'] if name=='step' else []),['y','nk','nv'],num_heads=4,kv_num_heads=2,sparse_block_size=16,**k)],
         {'q':f32(2,steps,64),'k':f32(2,steps,32),'v':f32(2,steps,32),'pk':f32(2,2,32,16),'pv':f32(2,2,32,16),'t':np.array(total,np.int32),'l':I(total,total)},['y','nk','nv'],opsets=MS,shared={'nk':'pk','nv':'pv'},
         inits=[nh.from_array(I([0,1,2],[0,1,3]),'r'),nh.from_array(I([0,1,-1],[0,0,1]),'c')]+([nh.from_array(f32(32,8),n) for n in ('cos','sin')] if name=='step' else []))
rng=np.random.default_rng(23)
case('VarlenNGramHashMapping',[M('VarlenNGramHashMapping',['x','m','v','c','p','','e','s','t'],['y','z','u'],max_ngram_size=3,n_head_per_ngram=2,pad_id=7,reset_on_eos=1)],
     {'x':rng.integers(0,3,9),'c':I(0,3,4,9),'p':rng.integers(0,3,(3,2)),'s':rng.integers(0,2,9).astype(np.int32),'t':rng.integers(0,2,(3,2)).astype(np.int32)},['y','z','u'],opsets=MS,inits=[nh.from_array(np.array(v),k) for k,v in (('m',[3,5,-7]),('v',[97,101,103,107]),('e',1))])

# ---- rows whose mask hides every key that is not behind them: what is behind stays hidden ----
rng=np.random.default_rng(24)
left=I([0,0,1,1],[1,1,1,1])
case('MultiHeadAttention_left_padded',[M('MultiHeadAttention',['q','k','v','','m'],['y'],num_heads=2,unidirectional=1,mask_filter_value=-50.)],{'q':f32(2,4,6),'k':f32(2,4,6),'v':f32(2,4,6),'m':left},['y'],opsets=MS)
case('Attention_left_padded',[M('Attention',['x','w','b','m'],['y'],num_heads=2,unidirectional=1,mask_filter_value=-50.)],{'x':f32(2,4,5),'m':left},['y'],opsets=MS,inits=[nh.from_array(f32(5,12),'w'),nh.from_array(f32(12),'b')])
case('WordConvEmbedding',[M('WordConvEmbedding',['x','w','b','c'],['y'])],{'x':I([1,2,3,4],[5,2,0,0],[3,0,0,0],[1,2,8,0])},['y'],opsets=MS,inits=[nh.from_array(f32(*d),k) for k,d in (('w',(3,1,2,4)),('b',(3,)),('c',(9,4)))])

# ---- a place that is whole but for the last bit ----
rng=np.random.default_rng(25)
case('Resize_symmetric_ceil',[h.make_node('Resize',['x','','s'],['y'],mode='nearest',nearest_mode='ceil',coordinate_transformation_mode='half_pixel_symmetric')],{'x':f32(1,2,5,6)},['y'],opsets=(('',19),),inits=[nh.from_array(F([1,1,1.5,.5]),'s')])

# ---- powers of two beyond the least and the largest, by each way to round ----
casts=[(r,s) for r in ('up','down','nearest') for s in (0,1)]
case('Cast_e8m0_special',[h.make_node('Cast',['x'],['e%d'%i],to=T.FLOAT8E8M0,saturate=s,round_mode=r) for i,(r,s) in enumerate(casts)]+[h.make_node('Cast',['e%d'%i],['y%d'%i],to=T.FLOAT) for i in range(6)],
     {'x':F([0,2.**-127,1.5*2.**-127,2.**-126,1.5*2.**126,2.**127,1.25*2.**127,1.75*2.**127,np.inf,np.nan,1,1.25,1.5,1.75,3])},['y%d'%i for i in range(6)],opsets=(('',24),),rtol=0,atol=0)

# ---- C is not read where beta is 0 ----
rng=np.random.default_rng(26)
wild=np.array([np.nan,np.inf,-np.inf,0])
case('Gemm_beta_0',[h.make_node('Gemm',['a','b','c'],['y'],alpha=.5,beta=0.),h.make_node('Gemm',['d','e','f'],['z'],beta=0.,transB=1)],
     {'a':f32(3,5),'b':f32(5,4),'c':wild.astype(np.float32),'d':rng.standard_normal((2,3)),'e':rng.standard_normal((4,3)),'f':wild},['y','z'],opsets=(('',13),))

# ---- what a product of -infinity and 0 makes of activations ----
far=np.array([-np.inf,np.inf,np.nan,-3e38,3e38,-100,-90,-8,-7.75,-1e-40,0,-0.,1e-40,.5,30,89,-np.inf],np.float32)
case('activations_infinite',[h.make_node('Gelu',['x'],['a']),h.make_node('Gelu',['x'],['b'],approximate='tanh'),h.make_node('Mish',['x'],['c']),h.make_node('Sigmoid',['x'],['s']),h.make_node('Mul',['x','s'],['d']),h.make_node('HardSwish',['x'],['e'])],{'x':far},['a','b','c','d','e'],opsets=(('',22),))

# ---- two sequences aligned ----
rng=np.random.default_rng(28)
case('DynamicTimeWarping',[M('DynamicTimeWarping',['x'],['y']),M('DynamicTimeWarping',['t'],['z']),M('DynamicTimeWarping',['v'],['w'])],
     {'x':f32(1,9,7),'t':rng.integers(-1,2,(6,11)).astype(np.float32),'v':np.where(rng.random((5,4))<.2,np.inf,f32(5,4)).astype(np.float32)},['y','z','w'],opsets=MS)
source=np.array([5,6,7,5,6,8,9])
case('BifurcationDetector',[M('BifurcationDetector',['s','c','p','q'],['t','m'],min_ngram_size=1,max_ngram_size=3),M('BifurcationDetector',['s','d','z'],['u','n'],min_ngram_size=2,max_ngram_size=2),M('BifurcationDetector',['s','c','e','k'],['v','o']),M('BifurcationDetector',['s','k','z'],['w','r'])],
     {'s':source,'c':np.array([1,2,5,6]),'p':np.array(2),'q':np.array([7,5,6,4,4,4]),'d':np.array([1,5,6]),'z':np.array(0),'e':np.array(7),'k':np.array([8])},['t','m','u','n','v','o','w','r'],opsets=MS)

# ---- backwards from before the first element: that one alone ----
rng=np.random.default_rng(27)
L=lambda *v:np.array(v,np.int64)
case('Slice_back_from_before',[h.make_node('Slice',['x',s,e,a,t],[y]) for s,e,a,t,y in (('s','e','a','t','y'),('s2','e','a','t','z'),('k','l','m','n','w'))],{'x':f32(5,3),'s':L(-4),'e':L(-2**63)},['y','z','w'],opsets=(('',13),),
     inits=[nh.from_array(v,k) for k,v in (('a',L(1)),('t',L(-2)),('s2',L(-2**63+1)),('k',L(-9,-1)),('l',L(-9,-9)),('m',L(0,1)),('n',L(-1,-1)))])

# ---- an infinity of one group is none of the others' ----
rng=np.random.default_rng(28)
spoiled=f32(2,6,5,4); spoiled[0,1,2,3]=np.inf; spoiled[1,5,4,0]=np.nan; spoiled[1,2,0,1]=-np.inf
case('ConvTranspose_groups_infinite',[h.make_node('ConvTranspose',['x','w'],['y'],group=2,strides=[2,1],pads=[1,0,1,1]),h.make_node('ConvTranspose',['x','v'],['z'],group=6,strides=[2,3],pads=[1,2,0,1],dilations=[1,2]),
     h.make_node('ConvTranspose',['x','v','b'],['t'],group=6),h.make_node('Relu',['t'],['r'])],
     {'x':spoiled},['y','z','r'],inits=[nh.from_array(f32(6,2,3,3),'w'),nh.from_array(f32(6,1,3,3),'v'),nh.from_array(f32(6),'b')])

# ---- nor is one of a depth any other depths' that do not see it ----
deep=f32(1,3,3,3,4); deep[0,1,1,2,3]=np.inf; deep[0,0,2,0,0]=np.nan
case('ConvTranspose_depth_infinite',[h.make_node('ConvTranspose',['x','w'],['y'],strides=[2,2,1],pads=[1,0,0,0,1,1]),h.make_node('ConvTranspose',['x','v'],['z'],strides=[3,2,2])],
     {'x':deep},['y','z'],inits=[nh.from_array(f32(3,2,3,3,2),'w'),nh.from_array(f32(3,2,2,1,3),'v')])

# ---- convolutions of images that are larger than a chip's tiles, made of a row and a column and reduced, so that files stay
# small; an infinity must stay within the windows that have it ----
for channels,kernel,stride,dilation,(height,width),outputs in ((1,5,1,1,(230,230),4),(3,7,2,1,(300,310),8),(16,3,1,2,(190,200),5),(64,3,1,1,(170,180),6),(40,4,2,1,(60,700),3)):
  row=f32(1,channels,1,width); row[0,0,0,width//2]=np.inf
  case(f'conv_large_{channels}x{kernel}_{stride}',[h.make_node('Add',['row','column'],['image']),h.make_node('Conv',['image','w'],['sums'],pads=[1,2,0,1],strides=[stride]*2,dilations=[dilation]*2),h.make_node('ReduceMax',['sums'],['y'],axes=[2],keepdims=0)],{'row':row,'column':f32(1,channels,height,1)},['y'],opsets=(('',17),),inits=[nh.from_array(np.abs(f32(outputs,channels,kernel,kernel)),'w')],atol=1e-4)

# ---- text that a decoder generates: two layers of GPT-2's kind; without scores of turns that there were none of ----
rng=np.random.default_rng(29)
def gpt(V=23,heads=2,size=4,layers=2):
    E=heads*size; w=lambda k,*d:nh.from_array(f32(*d),k); vi=h.make_tensor_value_info
    inits=[w('wte',V,E),w('wpe',24,E),w('head',E,V)]; nodes=[h.make_node('Gather',['wte','input_ids'],['e']),h.make_node('Gather',['wpe','position_ids'],['p']),h.make_node('Add',['e','p'],['x0'])]
    for l in map(str,range(layers)):
        inits+=[w('aw'+l,E,3*E),w('ab'+l,3*E),w('pw'+l,E,E)]
        nodes+=[M('Attention',['x'+l,'aw'+l,'ab'+l,'attention_mask','past_'+l],['a'+l,'present_'+l],num_heads=heads,unidirectional=1),h.make_node('MatMul',['a'+l,'pw'+l],['m'+l]),
                h.make_node('Tanh',['m'+l],['t'+l]),h.make_node('Add',['x'+l,'t'+l],[f'x{int(l)+1}'])]
    nodes.append(h.make_node('MatMul',[f'x{layers}','head'],['logits']))
    return h.make_graph(nodes,'decoder',[vi('input_ids',T.INT32,['b','s']),vi('position_ids',T.INT32,['b','s']),vi('attention_mask',T.INT32,['b','t'])]+[vi(f'past_{l}',T.FLOAT,[2,'b',heads,'p',size]) for l in range(layers)],
                        [vi('logits',T.FLOAT,['b','s',V])]+[vi(f'present_{l}',T.FLOAT,[2,'b',heads,'q',size]) for l in range(layers)],inits)
decoder=gpt(); text=lambda op,ins,outs,eos=5,**k:M(op,ins,outs,decoder=decoder,eos_token_id=eos,pad_token_id=1,**k)
prompt=np.array([[1,1,9,4],[7,5,3,20],[1,12,6,8]],np.int32); words={'ids':prompt,'max':I(14)}
penalties={'min':I(9),'rep':np.array([1.7],np.float32),'voc':(rng.random(23)>.2).astype(np.int32),'pre':(rng.random((3,23))>.5).astype(np.int32)}
case('GreedySearch',[text('GreedySearch',['ids','max'],['y']),text('GreedySearch',['ids','max','','','','','att'],['z'],eos=-1,init_decoder=gpt())],{**words,'att':I([1,0,1,1],[0,1,1,1],[1,1,1,1])},['y','z'],opsets=MS)
case('GreedySearch_penalties',[text('GreedySearch',['ids','max','min','rep','voc','pre'],['y'],no_repeat_ngram_size=2),text('GreedySearch',['ids','max'],['z'],no_repeat_ngram_size=1)],{**words,**penalties},['y','z'],opsets=MS)
case('Sampling_of_one',[text('Sampling',['ids','max'],['y'],top_p=1e-6,min_tokens_to_keep=1,temperature=.7),text('Sampling',['ids','max'],['z'],top_p=1e-6,custom=1)],words,['y','z'],opsets=MS)
ones=dict(one=np.ones(1,np.float32),few=I(1),three=I(3),two=I(2))
case('BeamSearch',[text('BeamSearch',['ids','max','few','three','two','one','one'],['y','z'],eos=10),text('BeamSearch',['ids','max','few','three','two','one','one'],['u','v'],eos=10,early_stopping=1)],{**words,**ones},['y','z','u','v'],opsets=MS)
case('BeamSearch_penalties',[text('BeamSearch',['ids','max','min','three','two','len','rep','voc','pre'],['y','z','s'],no_repeat_ngram_size=2)],{**words,**penalties,'three':I(3),'two':I(2),'len':np.array([.3],np.float32)},['y','z','s'],opsets=MS)

# ---- and with an encoder, of T5's kind ----
def t5(V=23,heads=2,size=4,tokens=False): # tokens: the decoder takes the encoder's, not its states
    E=heads*size; vi=h.make_tensor_value_info
    names=['wte','head']+[a+b for a in ('own','enc') for b in 'qkvo']; W={k:nh.from_array(f32(*((V,E) if k=='wte' else (E,V) if k=='head' else (E,E))),k) for k in names}
    C=[nh.from_array(np.array(v),k) for k,v in (('apart',[0,-1,heads,size]),('flat',[0,-1,E]),('axes',[1,2]))]+[nh.from_array(np.float32(v),k) for k,v in (('one',1),('low',-1e4))]
    def graph(first,ids,past):
        nodes=[]; n=lambda op,i,o=None,**k:(nodes.append(h.make_node(op,i,[o or f't{len(nodes)}'],**k)),nodes[-1].output[0])[1]
        split=lambda x,w,o=None:n('Transpose',[n('Reshape',[n('MatMul',[x,w]),'apart'])],o,perm=[0,2,1,3])
        def attend(q,k,v,mask,w):
            s=n('MatMul',[q,n('Transpose',[k],perm=[0,1,3,2])]); s=n('Add',[s,mask]) if mask else s
            return n('Tanh',[n('MatMul',[n('Reshape',[n('Transpose',[n('MatMul',[n('Softmax',[s],axis=-1),v])],perm=[0,2,1,3]),'flat']),w])])
        cross=[f'past_{k}_cross_0' for k in ('key','value')]
        if first:
            states=n('Tanh',[n('Gather',['wte','encoder_input_ids'])],'encoder_hidden_states'); cross=[split(states,w,f'present_{k}_cross_0') for w,k in (('enck','key'),('encv','value'))]
        mask=n('Mul',[n('Sub',['one',n('Cast',[n('Unsqueeze',['encoder_attention_mask','axes'])],to=1)]),'low']); x=n('Gather',['wte',ids])
        if tokens and past: x=n('Add',[x,n('ReduceMean',[n('Gather',['wte','encoder_input_ids'])],axes=[1])])
        kv=[split(x,w,None if past else f'present_{k}_self_0') for w,k in (('ownk','key'),('ownv','value'))]
        if past: kv=[n('Concat',[f'past_{k}_self_0',v],f'present_{k}_self_0',axis=2) for k,v in zip(('key','value'),kv)]
        x=n('Add',[x,attend(split(x,'ownq'),*kv,None,'owno')]); x=n('Add',[x,attend(split(x,'encq'),*cross,mask,'enco')]); n('MatMul',[x,'head'],'logits')
        used={i for m in nodes for i in m.input}; return nodes,[t for t in list(W.values())+C if t.name in used]
    kv=lambda way,kind,*d:[vi(f'{way}_{k}_{kind}_0',T.FLOAT,['b',heads,*d,size]) for k in ('key','value')]
    mask=vi('encoder_attention_mask',T.INT32,['b','s']); logits=vi('logits',T.FLOAT,['b',1,V]); states=vi('encoder_hidden_states',T.FLOAT,['b','s',E])
    nodes,inits=graph(True,'decoder_input_ids',False); encoder=h.make_graph(nodes,'encoder',[vi('encoder_input_ids',T.INT32,['b','s']),mask,vi('decoder_input_ids',T.INT32,['b',1])],[logits,states]+kv('present','self',1)+kv('present','cross','s'),inits)
    nodes,inits=graph(False,'input_ids',True); return dict(encoder=encoder,decoder=h.make_graph(nodes,'decoder',[vi('input_ids',T.INT32,['b',1])]+([vi('encoder_input_ids',T.INT32,['b','s']),mask] if tokens else [mask,states])+kv('past','self','p')+kv('past','cross','s'),[logits]+kv('present','self','q'),inits))
case('BeamSearch_encoder',[M('BeamSearch',['ids','max','few','three','two','one','one'],['y','z'],model_type=1,decoder_start_token_id=2,eos_token_id=9,pad_token_id=1,**t5())],{**words,**ones},['y','z'],opsets=MS)

# ---- an LSTM that looks at a memory ----
def looks(ways,I_,H,A,D,L,B=3,steps=5,places=4):
    found=L or D; w={'W':(ways,4*H,I_+found),'R':(ways,4*H,H),'B':(ways,8*H),'P':(ways,3*H),'h':(ways,B,H),'c':(ways,B,H),'QW':(ways,H,A),'MW':(ways,D,A),'V':(ways,A),'M':(B,places,D),'X':(steps,B,I_)}
    w={k:f32(*d) for k,d in w.items()}
    if L: w['AW']=f32(ways,H+D,L)
    return {**w,'len':I(*[5,3,1]),'mem':I(*[2,4,3])}
attentive=lambda ins,y,**k:M('AttnLSTM',ins,[y,y+'h',y+'c'],**k)
case('AttnLSTM',[attentive(['X','W','R','B','','','','','QW','MW','V','M'],'y',hidden_size=4)],{k:v for k,v in looks(1,3,4,5,6,0).items() if k in 'XWRBQWMWVM'},['y','yh','yc'],opsets=MS)
case('AttnLSTM_both_ways',[attentive(['X','W','R','B','len','h','c','P','QW','MW','V','M','mem','AW'],'y',hidden_size=4,direction='bidirectional',activations=['Sigmoid','Tanh','Relu','HardSigmoid','Softsign','Tanh'])],looks(2,3,4,5,6,7),['y','yh','yc'],opsets=MS)
case('AttnLSTM_backwards',[attentive(['X','W','R','','len','','','P','QW','MW','V','M','','AW'],'y',hidden_size=4,direction='reverse',clip=.5,input_forget=1)],{k:v for k,v in looks(1,3,4,5,6,7).items() if k not in ('B','h','c','mem')},['y','yh','yc'],opsets=MS)

# ---- convolutions of several results a channel; one column of few terms, with and without steps between its elements ----
rng=np.random.default_rng(41)
case('Conv_groups',[h.make_node('Conv',['x','w','b'],['y'],group=6,pads=[1,0,2,1],strides=[2,1]),h.make_node('Conv',['s','v'],['z'],group=5,dilations=[2]),h.make_node('Conv',['x','u','a'],['t'],group=2,strides=[1,2])],{'x':f32(2,6,9,8),'s':f32(1,5,14)},['y','z','t'],opsets=(('',17),),
     inits=[nh.from_array(f32(12,1,3,2),'w'),nh.from_array(f32(12),'b'),nh.from_array(f32(15,1,3),'v'),nh.from_array(f32(140,3,2,2),'u'),nh.from_array(f32(140),'a')])
case('Conv_one_channel',[h.make_node('Conv',['x','w','b'],['y'],dilations=[2],pads=[2,2]),h.make_node('Conv',['p','v'],['z'],pads=[1]*4),h.make_node('ConvTranspose',['q','u'],['t'],strides=[2,2]),h.make_node('MatMul',['a','c'],['m'])],
     {'x':f32(2,1,90),'p':f32(1,1,20,33),'q':f32(2,8,6,17),'a':f32(40,5),'c':f32(5,1)},['y','z','t','m'],opsets=(('',17),),
     inits=[nh.from_array(f32(1,1,3),'w'),nh.from_array(f32(1),'b'),nh.from_array(f32(1,1,3,5),'v'),nh.from_array(f32(8,1,2,2),'u')])
for kind in (0,1):
    blob=[np.concatenate([np.array([.01+.02*rng.random()],np.float32).view(np.uint8),u8(kind)%16,u8(16)]) for _ in range(21)]
    case('MatMulFpQ4_%d'%kind,[M('MatMulFpQ4',['a','w','d'],['y'],blk_quant_type=kind)],{'a':f32(2,3,80)},['y'],opsets=MS,inits=[nh.from_array(np.concatenate(blob),'w'),nh.from_array(np.array([80,7]),'d')])

# ---- what ONNX Runtime takes beside the standard ----
rng=np.random.default_rng(91)
vi=h.make_tensor_value_info
def written(name,nodes,ins,outs,feeds,opsets,inits=()): # with declared results: their types follow from no schema
    model_case(name,h.make_model(h.make_graph(nodes,name,ins,outs,initializer=list(inits)),opset_imports=[h.make_opsetid(*o) for o in opsets],ir_version=8),feeds)
written('domain_not_imported',[h.make_node('Flatten',['x'],['f']),h.make_node('ArrayFeatureExtractor',['f','i'],['y'],domain='ai.onnx.ml')],[vi('x',T.FLOAT,[3,4])],[vi('y',T.FLOAT,[3,2])],{'x':f32(3,4)},[('',7)],[nh.from_array(np.array([[2,0]]),'i')])
written('opset_twice',[h.make_node('Squeeze',['x'],['y'],axes=[0])],[vi('x',T.FLOAT,[1,4])],[vi('y',T.FLOAT,[4])],{'x':f32(1,4)},[('',0),('',7)])
body=h.make_graph([h.make_node('Squeeze',['i'],['j'],axes=[0]),h.make_node('Gather',['x','j'],['row']),h.make_node('Add',['sum','row'],['next']),h.make_node('Identity',['next'],['scan']),h.make_node('Identity',['go'],['again'])],'body',
  [vi('i',T.INT64,[1]),vi('go',T.BOOL,[]),vi('sum',T.FLOAT,[None])],[vi('again',T.BOOL,[]),vi('next',T.FLOAT,[None]),vi('scan',T.FLOAT,[None])])
written('Loop_numbers_of_rank_1',[h.make_node('Loop',['n','go0','zero'],['sum9','rows'],body=body)],[vi('x',T.FLOAT,[3,4])],[vi('sum9',T.FLOAT,[4]),vi('rows',T.FLOAT,[3,4])],{'x':f32(3,4)},[('',11)],[nh.from_array(np.array(3),'n'),nh.from_array(np.array(True),'go0'),nh.from_array(np.zeros(4,np.float32),'zero')])
for op,bias in (('LayerNormalization',['b']),('SimplifiedLayerNormalization',[])):
    written(op+'_two_types',[h.make_node(op,['x','s']+bias,['y'],axis=-1)],[vi('x',T.FLOAT16,[2,3,8])],[vi('y',T.FLOAT,[2,3,8])],{'x':f32(2,3,8).astype(np.float16)},[('',12)],[nh.from_array(f32(8),'s')]+[nh.from_array(f32(8),'b')]*len(bias))
case('BeamSearch_encoder_tokens',[M('BeamSearch',['ids','max','few','three','two','one','one'],['y','z'],model_type=1,decoder_start_token_id=2,eos_token_id=9,pad_token_id=1,**t5(tokens=True))],{**words,**ones},['y','z'],opsets=MS)
written('dims_without_names',[h.make_node('Add',['x','y'],['a']),h.make_node('GlobalMaxPool',['a'],['p']),h.make_node('Mul',['a','p'],['z'])],[vi('x',T.FLOAT,['?',3,'?','?']),vi('y',T.FLOAT,['None','None','-1','-1'])],
        [vi('z',T.FLOAT,['?',3,'?','?'])],{'x':f32(2,3,4,6),'y':f32(1,3,4,6)},[('',17)])

# ---- what PyTorch's exporters write of short integers, and ONNX Runtime refuses: the results are NumPy's ----
rng=np.random.default_rng(16)
def beside(name,nodes,feeds,results,opset):
    m=h.make_model(h.make_graph(nodes,name,[typ(k,v) for k,v in feeds.items()],[typ(k,v) for k,v in results.items()],initializer=[nh.from_array(np.array([1]),'axis')]),opset_imports=[h.make_opsetid('',opset)],ir_version=8)
    write_model(name,m,feeds,results.values())
for t in (np.int16,np.uint16):
    x=rng.integers(np.iinfo(t).min,np.iinfo(t).max,(3,7,2)).astype(t)
    beside('ReduceMax_'+np.dtype(t).name,[h.make_node('ReduceMax',['x','axis'],['a'],keepdims=0),h.make_node('ReduceMin',['x','axis'],['b']),h.make_node('ReduceMax',['x'],['c'],keepdims=0)],{'x':x},{'a':x.max(1),'b':x.min(1,keepdims=True),'c':np.array(x.max())},20)
for t in (np.int8,np.uint8,np.int16,np.uint16):
    x=rng.integers(np.iinfo(t).min,np.iinfo(t).max,(3,7)).astype(t)
    beside('short_integers_'+np.dtype(t).name,[h.make_node('ReduceSum',['x','axis'],['a'],keepdims=0),h.make_node('ReduceProd',['x','axis'],['b']),h.make_node('Neg',['x'],['c']),h.make_node('Relu',['x'],['d']),h.make_node('Pow',['x','p'],['e'])],
           {'x':x,'p':np.array([0,1,2,3,1,0,2]).astype(t)},{'a':x.sum(1,dtype=t),'b':x.prod(1,dtype=t,keepdims=True),'c':(0-x).astype(t),'d':x.clip(0),'e':x**np.array([0,1,2,3,1,0,2]).astype(t)},20)

# ---- images of bytes, with antialiasing: rounded after each axis; sizes by which onnxruntime's weights are exact ----
rng=np.random.default_rng(31)
smaller=lambda y,mode,**k: h.make_node('Resize',['x','','',y+'_size'],[y],mode=mode,antialias=1,**k)
case('Resize_antialias_bytes',[smaller('up','cubic'),smaller('down','cubic',cubic_coeff_a=-0.5),smaller('linear','linear')],{'x':rng.integers(0,256,(1,3,24,32),dtype=np.uint8)},['up','down','linear'],
     opsets=(('',18),),inits=[nh.from_array(np.array([1,3,*s],np.int64),n+'_size') for n,s in (('up',(48,64)),('down',(12,8)),('linear',(6,16)))])

# ---- edges that were refused, or decided in two ways ----
rng=np.random.default_rng(33)
case('Compress_long_condition',[h.make_node('Compress',['x','c'],['y'],axis=1),h.make_node('Compress',['x','d'],['z']),h.make_node('Compress',['e','c'],['w'],axis=0)],
     {'x':f32(2,3),'e':f32(0,3),'c':np.array([1,0,1,0,1],bool),'d':np.array([0,1,1,0,0,1,0,0],bool)},['y','z','w'])
case('Split_nothing',[h.make_node('Mul',['x','x'],['m']),h.make_node('Split',['m'],['a','b'],axis=1,num_outputs=2),h.make_node('Split',['m','s'],['c','d'],axis=1),h.make_node('Add',['b','d'],['e'])],
     {'x':f32(3,0,2)},['a','c','e'],inits=[nh.from_array(np.array([0,0]),'s')])
for name,positions in (('first',['one']),('rows',['b','s'])): # the number of heads follows from the table, which is open too
    written('rot_open_'+name,[M('RotaryEmbedding',['x','p','c','s'],['y'],interleaved=int(name=='rows'))],[vi('x',T.FLOAT,['b','s','w']),vi('p',T.INT64,positions),vi('c',T.FLOAT,['m','k']),vi('s',T.FLOAT,['m','k'])],[vi('y',T.FLOAT,None)],
            {'x':f32(2,3,18),'p':np.array([4]) if name=='first' else rng.integers(0,9,(2,3)),'c':f32(9,3),'s':f32(9,3)},MS)
# Several elements side by side stay as they are, behind the axis that is padded: each hole has the value as often.
grown={'b':np.zeros((3,2,4),bool),'c':u8(3,2,4),'d':f32(3,1,2).astype(np.float16),'e':u8(2,3,16).astype(np.int8),'f':f32(2,3,2)}
case('Pad_values_side_by_side',[h.make_node('Pad',[k,'p',k+'v','a'],[k+'y']) for k in grown],
     {**grown,'p':np.array([2,1]),'a':np.array([1]),**{k+'v':np.array(1,v.dtype) for k,v in grown.items()}},[k+'y' for k in grown])
